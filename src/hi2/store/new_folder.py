"""How does an index appear on disk all at once? It is written aside, and takes its name when it is whole."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hi2.errors import Error, invalid
from hi2.store.manifest import sync_folder
from hi2.store.writer import Writer


@contextmanager
def new_folder(folder: Path) -> Iterator[Writer]:
    """Yield a writer to a folder aside. It is renamed when the block ends, and removed if the block fails."""
    if folder.exists():
        raise invalid("path", "a folder that does not exist yet", f"'{folder}'; remove it or choose another")
    aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:12]}.new")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
        writer = Writer(aside)
        try:
            yield writer
        finally:
            writer.close()
        aside.rename(folder)
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError):
            raise Error(f"{folder} could not be written: {error}. Nothing was left behind.") from error
        raise
