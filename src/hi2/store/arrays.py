"""How is an array written and mapped? As a plain ``.npy`` file, written once and checked against the manifest.

Files are written with ``write``, never through a memory map, so a full disk is an exception and not a signal. A file
whose name does not end in ``.npy`` holds bytes without a header.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hi2 import _native
from hi2.errors import Error, FormatError
from hi2.store.folder import Folder
from hi2.types import Array

HEADER_ALIGNMENT = 64
#: A larger file must hold data in a thousandth of its bytes: an index has no files of mere holes, which take no room
#: and could claim any number of documents.
_MAX_HOLLOW_BYTES = 1 << 30
_MAX_EXTENTS = 1000


@dataclass(frozen=True)
class FileEntry:
    """What the manifest says about a file."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        return {"dtype": self.dtype, "shape": list(self.shape), "bytes": self.bytes, "sha256": self.sha256}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FileEntry:
        """Return the entry that ``to_json`` wrote."""
        entry = cls(data["dtype"], tuple(data["shape"]), data["bytes"], data["sha256"])
        if not (isinstance(entry.dtype, str) and isinstance(entry.sha256, str)):
            raise ValueError("a file's type and checksum must be strings")
        if any(type(n) is not int or n < 0 for n in (*entry.shape, entry.bytes)):
            raise ValueError("a file's shape and size must be counts")
        return entry


class Sink(Protocol):
    """Where the arrays of a segment or a model go."""

    def put(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], blocks: Iterable[Array]) -> None:
        """Store the blocks, concatenated, as one array."""
        ...


class MemorySink:
    """Keeps arrays in memory."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def put(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], blocks: Iterable[Array]) -> None:
        """Store the blocks, concatenated, as one array."""
        array = np.empty(shape, dtype)
        at = 0
        for block in blocks:
            array[at : at + len(block)] = block
            at += len(block)
        if at != shape[0]:
            raise AssertionError(f"{name}: {at} of {shape[0]} rows were written")
        array.flags.writeable = False
        self.arrays[name] = array


class FolderSink:
    """Writes arrays as files of a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.entries: dict[str, FileEntry] = {}

    def put(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], blocks: Iterable[Array]) -> None:
        """Store the blocks, concatenated, as one array."""
        self.entries[name] = write_file(self.folder, name, dtype, shape, blocks)


def put_array(sink: Sink, name: str, array: Array) -> None:
    """Store one array."""
    sink.put(name, array.dtype, array.shape, [array] if array.shape[0] else [])


def npy_header(dtype: npt.DTypeLike, shape: tuple[int, ...]) -> bytes:
    """Return the ``.npy`` header (version 1.0) of a C-ordered array; equal for equal dtype and shape."""
    description = np.dtype(dtype).str
    text = f"{{'descr': '{description}', 'fortran_order': False, 'shape': {tuple(int(n) for n in shape)}, }}"
    start = 10 + len(text) + 1
    padded = text + " " * (-start % HEADER_ALIGNMENT) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode("latin-1")


def write_file(
    folder: Folder, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], blocks: Iterable[Array]
) -> FileEntry:
    """Write a new file, flush it to the disk, and return its manifest entry."""
    digest = hashlib.sha256()
    header = _header(name, dtype, shape)
    with folder.create(name) as file:
        digest.update(header)
        size = file.write(header)
        for block in blocks:
            data = np.ascontiguousarray(block, dtype).reshape(-1).view(np.uint8).data
            digest.update(data)
            size += file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if size - len(header) != prod(shape) * np.dtype(dtype).itemsize:
        raise AssertionError(f"{name}: {size} bytes were written for shape {shape}")
    return FileEntry(np.dtype(dtype).str, tuple(shape), size, digest.hexdigest())


def map_file(folder: Folder, name: str, entry: FileEntry, *, mmap: bool = True) -> Array:
    """Return a file's array, mapped or read; its size and header must be what the manifest says."""
    with OpenArray(folder, name, entry) as file:
        return file.map() if mmap else file.read()


class OpenArray:
    """A file whose size and header are what the manifest says. While it is open, removing it does no harm."""

    def __init__(self, folder: Folder, name: str, entry: FileEntry) -> None:
        self._path = folder.path / name
        try:
            self._dtype = np.dtype(entry.dtype)
            header = _header(name, self._dtype, entry.shape)
            expected = len(header) + prod(entry.shape) * self._dtype.itemsize
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{self._path}: the manifest describes no array ({error}).") from error
        if self._dtype.hasobject:
            raise FormatError(f"{self._path}: the manifest describes an array of objects.")
        self._shape, self._begin, self.size = entry.shape, len(header), entry.bytes
        self._fd = folder.open_file(name)
        try:
            self._check(header, expected)
        except BaseException:
            self.close()
            raise

    def _check(self, header: bytes, expected: int) -> None:
        size = os.fstat(self._fd).st_size
        if size != expected or size != self.size:
            raise FormatError(f"{self._path}: {size} bytes where the manifest says {self.size}; restore the file.")
        if size > _MAX_HOLLOW_BYTES and _is_hollow(self._fd, size):
            raise FormatError(f"{self._path}: almost all of its {size} bytes are holes; restore the file.")
        os.lseek(self._fd, 0, os.SEEK_SET)
        if os.read(self._fd, len(header)) != header:
            raise FormatError(f"{self._path}: its header is not the array the manifest describes; restore the file.")

    def close(self) -> None:
        """Close the file; its map stays."""
        os.close(self._fd)

    def __enter__(self) -> OpenArray:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self) -> Array:
        """Return the array as a map, which keeps no descriptor: an index may have more files than a process may."""
        if self.size == self._begin:
            return np.zeros(self._shape, self._dtype)
        if hasattr(_native, "map_file"):
            return self._array(_native.map_file(self._fd)[self._begin :])
        with os.fdopen(os.dup(self._fd), "rb") as file:
            data = np.memmap(file, np.uint8, "r", self._begin, (self.size - self._begin,)).view(np.ndarray)
        return self._array(data)

    def read(self) -> Array:
        """Return the array in memory."""
        try:
            with os.fdopen(os.dup(self._fd), "rb") as file:
                file.seek(self._begin)
                data = np.fromfile(file, np.uint8, self.size - self._begin)
        except MemoryError as error:
            raise Error(f"{self._path}: its {self.size} bytes do not fit into memory; use mmap=True.") from error
        if len(data) != self.size - self._begin:
            raise OSError(f"{self._path} became shorter while it was read")
        return self._array(data)

    def _array(self, data: Array) -> Array:
        array = data.view(self._dtype).reshape(self._shape)
        array.flags.writeable = False
        return array


def _is_hollow(fd: int, size: int) -> bool:
    """Whether less than a thousandth of a file is data. Where holes are not reported, there are none."""
    if not hasattr(os, "SEEK_DATA"):
        return False
    held = end = 0
    try:
        for _ in range(_MAX_EXTENTS):
            begin = os.lseek(fd, end, os.SEEK_DATA)
            end = os.lseek(fd, begin, os.SEEK_HOLE)
            held += end - begin
    except OSError:  # no data follows
        return held < size // 1000
    return os.fstat(fd).st_blocks * 512 < size // 1000


def check_file(folder: Folder, name: str, entry: FileEntry) -> None:
    """Raise FormatError unless the file's bytes are those that were written."""
    digest = hashlib.sha256()
    try:
        with os.fdopen(folder.open_file(name), "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FormatError(f"{folder.path / name}: cannot be read ({error}).") from error
    _check_digest(folder.path / name, entry, digest.hexdigest())


def check_array(path: Path, entry: FileEntry, array: Array) -> None:
    """Raise FormatError unless an open array is the one that was written to a file."""
    digest = hashlib.sha256(_header(path.name, array.dtype, array.shape))
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    _check_digest(path, entry, digest.hexdigest())


def _header(name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> bytes:
    return npy_header(dtype, shape) if name.endswith(".npy") else b""


def _check_digest(path: Path, entry: FileEntry, digest: str) -> None:
    if digest != entry.sha256:
        raise FormatError(f"{path}: its checksum is not the manifest's; restore the file.")
