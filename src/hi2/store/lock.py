"""Who may write? One process at a time, by a lock of the operating system that dies with its holder."""

from __future__ import annotations

import os
import sys
import weakref

from hi2.errors import Error, Locked
from hi2.store.folder import Folder

LOCK_FILE = "lock"


class WriterLock:
    """Holds the writer's lock of a folder until it is closed or garbage-collected. A forked child does not hold it."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        fd = folder.open_file(LOCK_FILE, os.O_RDWR | os.O_CREAT)
        try:
            _lock(fd)
        except OSError as error:
            os.close(fd)
            raise Locked(
                f"Another writer holds {folder}. Close it, or open this index with mode='r' to search it."
            ) from error
        self._fd = fd
        self._release = weakref.finalize(self, _unlock_and_close, fd)
        self._release.atexit = False  # a daemon thread may write until the process ends, and the lock ends with it
        _held.add(self)

    def check(self) -> None:
        """Raise Error unless this process holds the lock, and the lock is still that of the folder at its path."""
        folder = self._folder
        if not self._release.alive:
            raise Error(f"The writer of {folder} was closed, or belongs to the process this one was forked from.")
        if not folder.is_in_place():
            raise Error(
                f"{folder} was moved, removed or replaced by another folder since it was opened for writing. Nothing "
                "was written there; move it back, or open the index again."
            )
        try:
            found = folder.stat(LOCK_FILE)
            held = found is not None and os.path.samestat(found, os.fstat(self._fd))
        except OSError as error:
            raise Error(f"{folder} cannot be read: {error}. Nothing was written.") from error
        if not held:
            raise Locked(
                f"The file '{LOCK_FILE}' of {folder} was removed or replaced, so that there may be another writer. "
                "Nothing was written; close this index and open it again."
            )

    def close(self) -> None:
        """Release the lock; closing twice is harmless."""
        self._release()

    def abandon(self) -> None:
        """In a forked child: close the descriptor without releasing the parent's lock."""
        if self._release.detach() is not None:
            os.close(self._fd)


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _unlock_and_close(fd: int) -> None:
    _unlock(fd)
    os.close(fd)


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)
