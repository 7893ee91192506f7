"""How does an index appear on disk all at once? It is written aside, and takes its name when it is whole."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hi2.errors import Error, FormatError, invalid
from hi2.store.folder import Folder
from hi2.store.lock import WriterLock
from hi2.store.manifest import MANIFEST
from hi2.store.writer import Writer


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Writer]:
    """Yield a writer to a folder aside. It is renamed when the block ends, and removed if the block fails.

    With ``overwrite`` an index may be there. It stays until the new one is whole, and no other writer may hold it.
    """
    folder = path.absolute()
    aside = f".{folder.name}.{uuid.uuid4().hex[:12]}.new"
    parent: Folder | None = None
    in_place = False
    lock: WriterLock | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        parent = Folder.open(folder.parent)
        old = parent.stat(folder.name) is not None
        if old and not overwrite:
            must = "a folder that does not exist yet, unless an index is to be replaced (overwrite=True)"
            raise invalid("path", must, f"'{folder}'")
        lock = _lock_of(parent, folder) if old else None
        with parent.make_child(aside) as own:
            writer = Writer(own)
            try:
                yield writer
            finally:
                writer.close()
        if lock is None:
            parent.rename(aside, folder.name)
        else:
            lock.check()
            parent.swap(aside, folder.name)
        in_place = True
        parent.sync()
        if lock is not None:
            with suppress(OSError, FormatError):  # what cannot be removed now is in nobody's way
                _remove(parent, aside)
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
        if lock is not None:
            lock.close()
        if parent is not None:
            parent.close()


def _lock_of(parent: Folder, folder: Path) -> WriterLock:
    """Lock the index that is to be replaced; a folder that is none is refused."""
    with suppress(OSError, FormatError):
        own = parent.child(folder.name)
        if own.stat(MANIFEST) is not None:
            return WriterLock(own)
    raise invalid("path", "an index where overwrite=True: nothing else is removed", f"'{folder}'")


def _remove(parent: Folder, name: str) -> None:
    """Remove the folder of an index, with its model and segments."""
    with parent.child(name) as own:
        for inner in own.names():
            own.remove(inner)
    parent.remove(name)
