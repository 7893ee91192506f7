"""Where is a stream of arrays collected? In memory while it is small, then in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from hi2.errors import Error
from hi2.types import Array

#: A stream that outgrows this many bytes goes to a file.
SPILL_BYTES = 64 << 20


class Spool:
    """Collects arrays and returns them as one, memory-mapped from a temporary file if they are large.

    >>> spool = Spool(np.float32, width=2)
    >>> spool.append(np.ones((3, 2), np.float32))
    >>> spool.finish().shape
    (3, 2)
    """

    def __init__(self, dtype: npt.DTypeLike, *, width: int | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._width = width
        self._parts: list[Array] = []
        self._bytes = 0
        self._file: Any = None

    def append(self, values: Array) -> None:
        """Append ``values``, converted to the spool's type."""
        part = np.ascontiguousarray(values, self._dtype).reshape(-1)
        self._parts.append(part)
        self._bytes += part.nbytes
        if self._bytes > SPILL_BYTES:
            self._spill()

    def _spill(self) -> None:
        with _named_place():
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by finish or with the object
            for part in self._parts:
                self._file.write(part.view(np.uint8).data)
        self._parts.clear()
        self._bytes = 0

    def finish(self) -> Array:
        """Return everything that was appended. A temporary file is removed with the array."""
        if self._file is None:
            array = np.concatenate(self._parts) if self._parts else np.zeros(0, self._dtype)
        else:
            self._spill()
            with _named_place():
                self._file.flush()
                array = np.memmap(self._file, self._dtype, "r").view(np.ndarray)
                self._file.close()
        return array if self._width is None else array.reshape(-1, self._width)

    def __del__(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written is not needed any more
                self._file.close()


@contextmanager
def _named_place() -> Iterator[None]:
    """Say where there was no room, and how to choose another place."""
    try:
        yield
    except OSError as error:
        try:
            place = tempfile.gettempdir()
        except OSError:
            place = "the folder for temporary files"
        raise Error(
            f"What does not fit in memory could not be written to {place}: {error}. "
            "Make room there, or set TMPDIR to a folder on a larger disk and start again."
        ) from error
