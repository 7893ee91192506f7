"""How are many strings stored, so that one is read or found without reading all? By lengths, positions and an order.

Row i has ``lengths[i]`` bytes of ``characters``. ``positions`` are those of rows 0, ID_BLOCK, 2·ID_BLOCK, …. A packed
order of the rows by their strings makes them searchable.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hi2 import _native
from hi2.data.ragged import Ragged
from hi2.types import U64, Array, Bytes

_LENGTH_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def string_arrays(column: Ragged) -> dict[str, Array]:
    """Return the arrays a column of strings is stored in: 'lengths' (the narrowest integers), 'positions' (uint64) and
    'characters' (bytes).
    """
    lengths = column.lengths
    longest = int(lengths.max()) if len(lengths) else 0
    size = 1 if longest < 1 << 8 else 2 if longest < 1 << 16 else 4
    begins: U64 = column.ends - lengths
    return {
        "lengths": lengths.astype(_LENGTH_TYPES[size]),
        "positions": np.ascontiguousarray(begins[:: _native.ID_BLOCK]),
        "characters": column.data,
    }


def open_strings(arrays: Mapping[str, Array], order: Bytes, rows: Bytes | None, bits: int) -> _native.Ids:
    """Return stored strings, to be read by row and found by binary search; nothing is copied.

    ``order`` lists documents in the order of their strings, and ``rows`` has the row of each, both packed; without
    ``rows`` they are the same.
    """
    lengths = arrays["lengths"]
    return _native.Ids.strings(
        lengths.view(np.uint8), lengths.dtype.itemsize, arrays["positions"], arrays["characters"], order, rows, bits
    )


def string_column(arrays: Mapping[str, Array]) -> Ragged | None:
    """Return stored strings as a column; None if the lengths do not add up to the characters."""
    ends = np.cumsum(arrays["lengths"], dtype=np.uint64)
    if int(ends[-1] if len(ends) else 0) != len(arrays["characters"]):
        return None
    return Ragged(ends, arrays["characters"])
