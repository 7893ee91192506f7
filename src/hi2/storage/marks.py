"""How far has long work come? A number in a file beside it, replaced as a whole."""

from __future__ import annotations

from pathlib import Path


def read_mark(path: Path) -> int:
    """Return how much is done; what is missing or cannot be read counts as nothing."""
    try:
        return max(0, int(path.read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0


def write_mark(path: Path, done: int) -> None:
    """Say how much is done; an interruption leaves the number before."""
    part = path.with_name(path.name + ".part")
    part.write_text(str(done), encoding="ascii")
    part.replace(path)
