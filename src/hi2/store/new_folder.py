"""How does an index appear on disk all at once? It is written aside, and takes its name when it is whole."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hi2.errors import Error, invalid
from hi2.store.folder import Folder
from hi2.store.writer import Writer


@contextmanager
def new_folder(path: Path) -> Iterator[Writer]:
    """Yield a writer to a folder aside. It is renamed when the block ends, and removed if the block fails."""
    folder = path.absolute()
    aside = f".{folder.name}.{uuid.uuid4().hex[:12]}.new"
    parent: Folder | None = None
    in_place = False
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        parent = Folder.open(folder.parent)
        if parent.stat(folder.name) is not None:
            raise invalid("path", "a folder that does not exist yet", f"'{folder}'; remove it or choose another")
        with parent.make_child(aside) as own:
            writer = Writer(own)
            try:
                yield writer
            finally:
                writer.close()
        parent.rename(aside, folder.name)
        in_place = True
        parent.sync()
    except BaseException as error:
        if parent is not None and not in_place:
            with suppress(OSError, Error):
                _remove(parent, aside)
        if not isinstance(error, OSError):
            raise
        if in_place:
            raise Error(f"{folder} is written, but the disk did not confirm its name: {error}.") from error
        left = parent is not None and parent.stat(aside) is not None
        raise Error(
            f"{folder} could not be written: {error}. "
            + (f"Remove {folder.parent / aside}, which is half written." if left else "Nothing was left behind.")
        ) from error
    finally:
        if parent is not None:
            parent.close()


def _remove(parent: Folder, name: str) -> None:
    """Remove the folder of an index, with its model and segments."""
    with parent.child(name) as own:
        for inner in own.names():
            own.remove(inner)
    parent.remove(name)
