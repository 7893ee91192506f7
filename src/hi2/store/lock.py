"""Who may write? One process at a time, by a lock of the operating system that dies with its holder."""

from __future__ import annotations

import os
import sys
import weakref
from pathlib import Path

from hi2.errors import Error, Locked

LOCK_FILE = "lock"


class WriterLock:
    """Holds the writer's lock of a folder until it is closed or garbage-collected. A forked child does not hold it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        fd = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            _lock(fd)
        except OSError as error:
            os.close(fd)
            raise Locked(
                f"Another writer holds {folder}. Close it, or open this index with mode='r' to search it."
            ) from error
        self._fd = fd
        self._release = weakref.finalize(self, _unlock_and_close, fd)
        _held.add(self)

    def check(self) -> None:
        """Raise Error unless the lock is held by this process."""
        if not self._release.alive:
            raise Error(f"The writer of {self._folder} was closed, or belongs to the process this one was forked from.")

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
