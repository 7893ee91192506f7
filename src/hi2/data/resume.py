"""How much of a long job is done? A count in a file beside the results, replaced as a whole."""

from __future__ import annotations

from pathlib import Path


def read_mark(path: Path) -> int:
    """Return how much is done; 0 if the file is missing or cannot be read."""
    try:
        return max(0, int(path.read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0


def write_mark(path: Path, done: int) -> None:
    """Record how much is done; after an interruption the file holds the previous count."""
    part = path.with_name(path.name + ".part")
    part.write_text(str(done), encoding="ascii")
    part.replace(path)
