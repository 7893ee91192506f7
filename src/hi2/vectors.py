"""Where do vectors come from? Arrays, memory maps, ``.npy`` files or a stream of batches, read a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import InvalidParameter, invalid
from hi2.spool import Spool
from hi2.types import Array, Floats

METRICS = ("inner_product", "cosine")
#: Inner products of larger numbers could overflow float32, and an infinite score orders nothing.
LARGEST = 1e16


class Vectors:
    """Checked access to (n, dim) vectors; ``read`` gives finite float32, at unit length where the metric is cosine."""

    def __init__(self, rows: Array, *, normalise: bool, name: str = "vectors") -> None:
        self._rows = rows
        self._normalise = normalise
        self._name = name
        self.n, self.dim = int(rows.shape[0]), int(rows.shape[1])

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
            raise invalid(self._name, f"finite numbers up to {LARGEST:.0e}", f"NaN, infinity or more in row {row}")
        return block


def open_vectors(data: Any, *, metric: str, dim: int | None = None, name: str = "vectors") -> Vectors:
    """Return access to ``data``: an array, a memmap, a path of a ``.npy`` file, or an iterator of 2-D batches."""
    if isinstance(data, (str, Path)):
        data = _load_npy(Path(data), name)
    elif isinstance(data, Iterator):
        data = _spool(data, name)
    elif not isinstance(data, np.ndarray):
        try:
            data = np.asarray(data)
        except ValueError as error:
            raise invalid(name, "an array of shape (n, dim)", f"rows that make no array ({error})") from error
    if data.ndim != 2:
        raise invalid(name, "an array of shape (n, dim)", f"shape {data.shape}")
    if data.dtype.kind not in "fiu":
        raise invalid(name, "an array of real numbers", f"dtype {data.dtype}")
    if data.shape[1] == 0:
        raise invalid(name, "an array of at least one dimension", f"shape {data.shape}")
    if dim is not None and data.shape[1] != dim:
        raise invalid(name, f"of the index's dimension {dim}", f"dimension {data.shape[1]}")
    return Vectors(data, normalise=metric == "cosine", name=name)


def _load_npy(path: Path, name: str) -> Array:
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise invalid(name, "the path of a .npy file", f"'{path}' ({error})") from error
    return array


def _spool(batches: Iterator[Any], name: str) -> Array:
    spool: Spool | None = None
    dim = 0
    for number, batch in enumerate(batches):
        block = np.asarray(batch)
        if (
            block.ndim != 2
            or block.dtype.kind not in "fiu"
            or block.shape[1] == 0
            or (spool is not None and block.shape[1] != dim)
        ):
            raise invalid(name, "batches of shape (n, dim), all of one dim", f"shape {block.shape} in batch {number}")
        if spool is None:
            dim = int(block.shape[1])
            spool = Spool(np.float32, width=dim)
        with np.errstate(over="ignore"):
            spool.append(block.astype(np.float32))
    if spool is None:
        raise InvalidParameter(f"The '{name}' parameter must yield at least one batch. Got an empty iterator instead.")
    return spool.finish()
