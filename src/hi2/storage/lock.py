"""Who may write? One process at a time, by a lock of the operating system that dies with its holder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hi2.errors import Locked

LOCK_FILE = "lock"


class WriterLock:
    """Holds the writer's lock of a folder until closed."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_FILE
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            _lock(self._fd)
        except OSError as error:
            os.close(self._fd)
            self._fd = None
            raise Locked(
                f"Another writer holds {folder}. Close it, or open this index with mode='r' to search it."
            ) from error

    def close(self) -> None:
        """Give the lock back; closing twice is harmless."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
