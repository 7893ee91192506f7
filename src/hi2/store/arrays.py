"""How is an array written and mapped? As a plain ``.npy`` file, written once and checked against the manifest.

Files are written with ``write``, never through a memory map, so a full disk is an exception and not a signal. A file
whose name does not end in ``.npy`` holds bytes without a header.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from hi2 import _native
from hi2.errors import Error, FormatError
from hi2.store.folder import Folder
from hi2.types import Array

HEADER_ALIGNMENT = 64
#: The file that holds the arrays of a small segment, one after another.
PACK = "arrays.pack"
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
    #: Where the file begins in the pack of its folder; None if it is a file of its own.
    at: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        own = {"dtype": self.dtype, "shape": list(self.shape), "bytes": self.bytes, "sha256": self.sha256}
        return own if self.at is None else {**own, "at": self.at}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FileEntry:
        """Return the entry that ``to_json`` wrote."""
        entry = cls(data["dtype"], tuple(data["shape"]), data["bytes"], data["sha256"], data.get("at"))
        if not (isinstance(entry.dtype, str) and isinstance(entry.sha256, str)):
            raise ValueError("a file's type and checksum must be strings")
        if any(type(n) is not int or n < 0 for n in (*entry.shape, entry.bytes, entry.at or 0)):
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
    """Writes arrays as files of a folder, or one after another into one file, its pack, which is flushed once."""

    def __init__(self, folder: Folder, *, packed: bool = False) -> None:
        self.folder = folder
        self.entries: dict[str, FileEntry] = {}
        self._pack = folder.create(PACK) if packed else None

    def put(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], blocks: Iterable[Array]) -> None:
        """Store the blocks, concatenated, as one array."""
        if self._pack is None:
            self.entries[name] = write_file(self.folder, name, dtype, shape, blocks)
            return
        at = self._pack.tell()
        at += self._pack.write(bytes(-at % HEADER_ALIGNMENT))
        self.entries[name] = replace(_write(self._pack, name, dtype, shape, blocks), at=at)

    def finish(self) -> None:
        """Make what was written durable."""
        if self._pack is not None:
            self._pack.flush()
            os.fsync(self._pack.fileno())
        self.close()
        self.folder.sync()

    def close(self) -> None:
        """Close the pack."""
        if self._pack is not None:
            self._pack.close()


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
    with folder.create(name) as file:
        entry = _write(file, name, dtype, shape, blocks)
        file.flush()
        os.fsync(file.fileno())
    return entry


def _write(
    file: BinaryIO, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], blocks: Iterable[Array]
) -> FileEntry:
    """Write the bytes of a file where another stands, and return its manifest entry."""
    header = _header(name, dtype, shape)
    digest = hashlib.sha256(header)
    size = file.write(header)
    for block in blocks:
        data = np.ascontiguousarray(block, dtype).reshape(-1).view(np.uint8).data
        digest.update(data)
        size += file.write(data)
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
        return self._array(_mapped(self._fd)[self._begin :])

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


def _mapped(fd: int) -> Array:
    """The bytes of an open file as a map."""
    if hasattr(_native, "map_file"):
        mapped: Array = _native.map_file(fd)
        return mapped
    with os.fdopen(os.dup(fd), "rb") as file:
        return np.memmap(file, np.uint8, "r").view(np.ndarray)


def _read_all(fd: int, size: int) -> Array:
    with os.fdopen(os.dup(fd), "rb") as file:
        return np.fromfile(file, np.uint8, size)


class Pack:
    """The pack of a folder, mapped or read once for all its arrays."""

    def __init__(self, folder: Folder, *, mmap: bool) -> None:
        self._path = folder.path / PACK
        fd = folder.open_file(PACK)
        try:
            size = os.fstat(fd).st_size
            if size == 0 or (size > _MAX_HOLLOW_BYTES and _is_hollow(fd, size)):
                raise FormatError(f"{self._path}: there is no data in its {size} bytes; restore the file.")
            self._data: Array = _mapped(fd) if mmap else _read_all(fd, size)
        finally:
            os.close(fd)

    def check_rest(self, entries: Iterable[FileEntry]) -> None:
        """Refuse a pack with other bytes than those of its arrays, one after another, and zeros between them."""
        end = 0
        for entry in sorted(entries, key=lambda own: own.at or 0):
            begin = entry.at or 0
            if not 0 <= begin - end < HEADER_ALIGNMENT or self._data[end:begin].any():
                raise FormatError(f"{self._path}: its arrays do not follow one another; restore the file.")
            end = begin + entry.bytes
        if len(self._data) != end:
            raise FormatError(f"{self._path}: {len(self._data)} bytes where its arrays have {end}; restore the file.")

    def array(self, name: str, entry: FileEntry) -> Array:
        """Return one of the arrays; its size and header must be what the manifest says."""
        try:
            dtype = np.dtype(entry.dtype)
            header = _header(name, dtype, entry.shape)
            expected = len(header) + prod(entry.shape) * dtype.itemsize
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{self._path}: the manifest describes no array {name} ({error}).") from error
        begin = entry.at or 0
        data = self._data[begin : begin + entry.bytes]
        if dtype.hasobject or begin % HEADER_ALIGNMENT or len(data) != expected or expected != entry.bytes:
            raise FormatError(f"{self._path}: {name} is not the array that the manifest describes; restore the file.")
        if data[: len(header)].tobytes() != header:
            raise FormatError(f"{self._path}: the header of {name} is not what the manifest says; restore the file.")
        array: Array = data[len(header) :].view(dtype).reshape(entry.shape)
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
        with os.fdopen(folder.open_file(name if entry.at is None else PACK), "rb") as file:
            file.seek(entry.at or 0)
            left = entry.bytes if entry.at is not None else None
            while block := file.read(1 << 20 if left is None else min(1 << 20, left)):
                digest.update(block)
                left = None if left is None else left - len(block)
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
