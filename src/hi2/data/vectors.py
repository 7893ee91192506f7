"""Where do vectors come from? Arrays, memory maps, ``.npy`` files or a stream of batches, read a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hi2.data.given_array import given_array, is_real
from hi2.data.spool import Spool
from hi2.errors import InvalidParameter, described, invalid
from hi2.types import I64, Array, Bools, Floats

INNER_PRODUCT = "inner_product"
METRICS = (INNER_PRODUCT, "cosine")
#: Inner products of larger numbers could overflow float32, and infinite scores cannot be ordered.
LARGEST = 1e16
#: Rows are numbered by 32 bits, and no model has as many dimensions.
MAX_VECTORS, MAX_DIM = 1 << 32, 1 << 20


class Vectors:
    """Checked access to (n, dim) vectors. ``read`` returns finite float32, of unit length if the metric is cosine."""

    def __init__(self, rows: Array, *, normalise: bool, name: str = "vectors", numbers: I64 | None = None) -> None:
        self._rows = rows
        self._normalise = normalise
        self._name = name
        #: What the caller calls each row, where some of the given rows are missing.
        self._numbers = numbers
        self.n, self.dim = int(rows.shape[0]), int(rows.shape[1])

    @classmethod
    def of(
        cls, rows: Array, *, metric: str, dim: int | None = None, name: str = "vectors", numbers: I64 | None = None
    ) -> Vectors:
        """Return access to an array; refuse one that has no vectors of the index's dimension."""
        if rows.ndim != 2:
            raise invalid(name, "an array of shape (n, dim)", f"shape {rows.shape}")
        if not is_real(rows.dtype):
            raise invalid(name, "an array of real numbers", f"dtype {rows.dtype}")
        if rows.shape[1] == 0:
            raise invalid(name, "an array of at least one dimension", f"shape {rows.shape}")
        if rows.shape[0] >= MAX_VECTORS or rows.shape[1] >= MAX_DIM:
            raise invalid(name, f"of fewer than 2^32 rows of less than {MAX_DIM:,} dimensions", f"shape {rows.shape}")
        if dim is not None and rows.shape[1] != dim:
            raise invalid(name, f"of the index's dimension {dim}", f"dimension {rows.shape[1]}")
        return cls(rows, normalise=metric == "cosine", name=name, numbers=numbers)

    def read(self, rows: slice | Array) -> Floats:
        """Return some rows as a C-contiguous (n, dim) float32 array."""
        with np.errstate(over="ignore"):
            block: Floats = np.ascontiguousarray(self._rows[rows], np.float32)
        if self._normalise:
            norms = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))[:, None]
            block = (block / np.where(norms > 0, norms, 1)).astype(np.float32)
        sound = (np.abs(block) <= LARGEST).all(axis=1)
        if not sound.all():
            row = int(np.flatnonzero(~sound)[0])
            row = row + (rows.start or 0) if isinstance(rows, slice) else int(rows[row])
            row = row if self._numbers is None else int(self._numbers[row])
            raise invalid(self._name, f"finite numbers up to {LARGEST:.0e}", f"NaN, infinity or more in row {row}")
        return block


def open_vectors(data: Any, *, metric: str, dim: int | None = None, name: str = "vectors") -> Vectors:
    """Return access to ``data``: an array, a memmap, a path of a ``.npy`` file, or an iterator of 2-D batches."""
    if isinstance(data, (str, Path)):
        data = _load_npy(Path(data), name)
    elif isinstance(data, Iterator):
        data = _spool(data, name)
    else:
        data = given_array(data, name=name)
    return Vectors.of(data, metric=metric, dim=dim, name=name)


def open_some_vectors(
    data: Any, *, metric: str, dim: int | None = None, name: str = "vectors"
) -> tuple[Vectors, Bools | None]:
    """Return access to vectors of which some may be None, and which rows have one; None if all have.

    >>> vectors, present = open_some_vectors([[1.0, 2.0], None], metric="inner_product")
    >>> vectors.n, present.tolist()
    (1, [True, False])
    """
    listed = isinstance(data, (list, tuple)) or (isinstance(data, np.ndarray) and data.dtype == object)
    if not listed or all(row is not None for row in data):
        return open_vectors(data, metric=metric, dim=dim, name=name), None
    present = np.array([row is not None for row in data], bool)
    given = [row for row in data if row is not None]
    if not given and dim is None:
        raise invalid(name, "an array, with None for some documents at most", "None for all of them")
    rows = np.zeros((0, dim or 0), np.float32) if not given else given_array(given, name=name)
    return Vectors.of(rows, metric=metric, dim=dim, name=name, numbers=np.flatnonzero(present)), present


def _load_npy(path: Path, name: str) -> Array:
    try:
        array: Array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # numpy raises what its parser of headers raises
        raise invalid(name, "the path of a .npy file", f"{described(str(path))} ({error})") from error
    return array


class VectorSpool:
    """Collects batches of vectors of one dimension."""

    def __init__(self, name: str = "vectors") -> None:
        self._name = name
        self._spool: Spool | None = None
        self._dim = 0
        self._n_batches = 0

    def append(self, batch: Any) -> None:
        """Append a 2-D batch."""
        block = given_array(batch, name=self._name)
        if self._spool is None and block.ndim == 2:
            self._dim = int(block.shape[1])
            self._spool = Spool(np.float32, width=self._dim)
        if self._spool is None or block.shape[1:] != (self._dim,) or self._dim == 0 or not is_real(block.dtype):
            must = "batches of shape (n, dim), all of one dim"
            raise invalid(self._name, must, f"shape {block.shape} in batch {self._n_batches}")
        with np.errstate(over="ignore"):
            self._spool.append(block.astype(np.float32))
        self._n_batches += 1

    def finish(self) -> Array:
        """Return all batches as one array."""
        if self._spool is None:
            raise InvalidParameter(
                f"The '{self._name}' parameter must yield at least one batch. Got an empty iterator."
            )
        return self._spool.finish()


def _spool(batches: Iterator[Any], name: str) -> Array:
    spool = VectorSpool(name)
    for batch in batches:
        spool.append(batch)
    return spool.finish()
