"""Where does a stream of arrays wait until its end is known? In an unnamed temporary file, read back as a map."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from hi2.types import Array


class Spool:
    """Appends arrays to a temporary file and gives them back as one memory-mapped array.

    >>> spool = Spool(np.float32, width=2)
    >>> spool.append(np.ones((3, 2), np.float32))
    >>> spool.finish().shape
    (3, 2)
    """

    def __init__(self, dtype: npt.DTypeLike, *, width: int | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._width = width
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - the map outlives this object

    def append(self, values: Array) -> None:
        """Append ``values``, converted to the spool's type."""
        self._file.write(memoryview(np.ascontiguousarray(values, self._dtype)).cast("B"))

    def finish(self) -> Array:
        """Return everything appended; the file goes away with the array."""
        self._file.flush()
        n = self._file.tell() // self._dtype.itemsize
        if n == 0:
            array: Array = np.zeros(0, self._dtype)
        else:
            array = np.memmap(self._file, self._dtype, "r", shape=(n,)).view(np.ndarray)
        return array if self._width is None else array.reshape(-1, self._width)
