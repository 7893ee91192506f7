"""How is a folder held? By a descriptor, so it stays the same folder whatever its name leads to later.

Files are looked up in the folder itself. Links are not followed, and only regular files are opened, so nothing outside
the folder is read, written or removed, and no read waits for a pipe or a device.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
import weakref
from pathlib import Path
from typing import Any, BinaryIO

from hi2.errors import FormatError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
#: The flag of renameat2 in Linux.
_RENAME_EXCHANGE = 2
#: Where a system opens no descriptors of folders (Windows), absolute paths stand in for them.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd


class Folder:
    """An open folder. ``path`` is where it was found, made absolute."""

    def __init__(self, path: Path, fd: int | None) -> None:
        self.path = path
        self._fd = fd
        self._close = weakref.finalize(self, os.close, fd) if fd is not None else None
        if self._close is not None:
            self._close.atexit = False  # a daemon thread may use it until the process ends

    @classmethod
    def open(cls, path: str | Path) -> Folder:
        """Open a folder by its path, which may be relative and may be a link."""
        own = Path(path).absolute()
        if not own.is_dir():
            kind = NotADirectoryError if own.exists() else FileNotFoundError
            raise kind(errno.ENOTDIR if own.exists() else errno.ENOENT, "no folder", str(own))
        return cls(own, os.open(own, os.O_RDONLY | os.O_DIRECTORY | _PLAIN) if _BY_DESCRIPTOR else None)

    def child(self, name: str) -> Folder:
        """Open a folder inside this one."""
        path = self.path / name
        if not _BY_DESCRIPTOR:
            if path.is_symlink() or not path.is_dir():
                raise _refused(path) if path.exists() else FileNotFoundError(errno.ENOENT, "no folder", str(path))
            return Folder(path, None)
        try:
            return Folder(path, os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK | _PLAIN, dir_fd=self._fd))
        except OSError as error:
            raise self._explained(error, name) from error

    def make_child(self, name: str) -> Folder:
        """Make a folder inside this one and open it."""
        os.mkdir(*self._at(name), **self._here)
        return self.child(name)

    def close(self) -> None:
        """Close the descriptor; closing twice is harmless."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self.path)

    # -- files --------------------------------------------------------------------------------------------------------

    def open_file(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor of a regular file; a link, a pipe or a device is refused."""
        if not _NO_LINK and (self.path / name).is_symlink():
            raise _refused(self.path / name)
        try:
            fd = os.open(*self._at(name), flags | _NO_LINK | _NO_WAIT | _PLAIN, 0o644, **self._here)
        except OSError as error:
            raise self._explained(error, name) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise _refused(self.path / name)
        return fd

    def create(self, name: str) -> BinaryIO:
        """Open a new file for writing; there must be nothing of this name."""
        fd = os.open(*self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _PLAIN, 0o644, **self._here)
        return os.fdopen(fd, "wb")

    def read(self, name: str, *, limit: int) -> bytes:
        """Return a file's bytes; a file of more than ``limit`` is refused."""
        with os.fdopen(self.open_file(name), "rb") as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise FormatError(f"{self.path / name} is larger than {limit:,} bytes, which no index needs.")
            return file.read(limit)

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file's content. After a crash the file holds the old content or the new, never a mixture."""
        aside = name + ".new"
        self.unlink(aside)
        with self.create(aside) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self.rename(aside, name)
        self.sync()

    def copy_over(self, name: str, other: str, *, limit: int) -> None:
        """Give a file a second name, in the place of what has it; a copy where the system has no links.

        A link needs no flush of its own: the names are durable with the next ``sync``.
        """
        aside = other + ".new"
        self.unlink(aside)
        own: dict[str, Any] = {} if self._fd is None else {"src_dir_fd": self._fd, "dst_dir_fd": self._fd}
        try:
            os.link(*self._at(name), *self._at(aside), follow_symlinks=False, **own)
        except (OSError, NotImplementedError):
            self.replace(other, self.read(name, limit=limit))
            return
        self.rename(aside, other)

    # -- names --------------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return what is in the folder."""
        return os.listdir(self.path if self._fd is None else self._fd)

    def stat(self, name: str) -> os.stat_result | None:
        """Return what is known of an entry, not of what it links to; None if there is none."""
        try:
            return os.stat(*self._at(name), follow_symlinks=False, **self._here)
        except FileNotFoundError:
            return None

    def rename(self, old: str, new: str) -> None:
        """Give an entry another name; a file of that name is replaced."""
        own: dict[str, Any] = {} if self._fd is None else {"src_dir_fd": self._fd, "dst_dir_fd": self._fd}
        os.replace(*self._at(old), *self._at(new), **own)

    def swap(self, one: str, other: str) -> None:
        """Give two folders each other's name: in one step where the system can (Linux), else in three.

        If the process ends between the three, ``other`` is missing and ``one``.swap is what it was.
        """
        if not _exchange(self._fd, one, other):
            between = f"{one}.swap"
            self.rename(other, between)
            try:
                self.rename(one, other)
            except BaseException:
                self.rename(between, other)
                raise
            self.rename(between, one)

    def unlink(self, name: str) -> None:
        """Remove a file or a link, if there is one."""
        try:
            os.unlink(*self._at(name), **self._here)
        except FileNotFoundError:
            return

    def remove(self, name: str) -> None:
        """Remove a file, a link, or a folder with its files. A folder that holds further folders stays."""
        found = self.stat(name)
        if found is None:
            return
        if not stat.S_ISDIR(found.st_mode):
            self.unlink(name)
            return
        with self.child(name) as own:
            for file in own.names():
                own.unlink(file)
        os.rmdir(*self._at(name), **self._here)

    def sync(self) -> None:
        """Make the names in the folder durable."""
        if self._fd is not None:  # Windows has no handle for this
            os.fsync(self._fd)

    def is_in_place(self) -> bool:
        """Return whether the folder's path still leads to it."""
        if self._fd is None:
            return self.path.is_dir()
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except OSError:
            return False

    # -- where --------------------------------------------------------------------------------------------------------

    def _at(self, name: str) -> tuple[str | Path]:
        return (self.path / name if self._fd is None else name,)

    @property
    def _here(self) -> dict[str, Any]:
        return {} if self._fd is None else {"dir_fd": self._fd}

    def _explained(self, error: OSError, name: str) -> Exception:
        """Return the error of an ``open``: with its whole path, or as the refusal of a link."""
        found = self.stat(name)
        if found is not None and not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return _refused(self.path / name)
        error.filename = str(self.path / name)
        return error


def _exchange(fd: int | None, one: str, other: str) -> bool:
    """Exchange two names of a folder in one step; False where the system or the file system cannot."""
    if fd is None or not sys.platform.startswith("linux"):
        return False
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(renameat2(fd, os.fsencode(one), fd, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def _refused(path: Path) -> FormatError:
    return FormatError(
        f"{path} is a link, a pipe or a device, or a folder in the place of a file. An index has plain files in plain "
        "folders: copy it with 'cp -rL', or restore it."
    )
