"""Which files does a manifest name? Only files of its own folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hi2.errors import FormatError
from hi2.state.index_state import State
from hi2.store.arrays import FileEntry
from hi2.store.folder import Folder
from hi2.store.manifest import MANIFEST


@dataclass(frozen=True)
class Stored:
    """A state as a folder holds it."""

    folder: Folder
    state: State
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class NamedFile:
    """A file that a manifest names: in the index's own folder (""), or in one inside it."""

    folder: str
    name: str
    entry: FileEntry


def plain_name(folder: Folder, name: object) -> str:
    """Return the name of a file or folder as a manifest gives it; refuse one that leads elsewhere."""
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", "..") or "\0" in name:
        raise FormatError(f"{folder.path / MANIFEST} names a file outside the index: {name!r}.")
    return name


def entries(folder: Folder, data: Mapping[str, Any]) -> dict[str, FileEntry]:
    """Return the file entries of a model or a segment by name."""
    return {plain_name(folder, name): FileEntry.from_json(entry) for name, entry in data.items()}


def named_files(folder: Folder, manifest: Mapping[str, Any]) -> Iterator[NamedFile]:
    """Yield every file that a manifest names, with what it says about it."""
    with well_formed(folder):
        for part in (manifest["model"], *manifest["segments"]):
            own = plain_name(folder, part["folder"])
            for name, entry in entries(folder, part["files"]).items():
                yield NamedFile(own, name, entry)
            if part.get("alive"):
                yield NamedFile(own, plain_name(folder, part["alive"]["file"]), FileEntry.from_json(part["alive"]))
        for own_file in (manifest["drift"]["df"], manifest["drift"].get("words")):
            if own_file:
                yield NamedFile("", plain_name(folder, own_file["file"]), FileEntry.from_json(own_file))


@contextmanager
def well_formed(folder: Folder) -> Iterator[None]:
    """Turn what goes wrong while a manifest's content is read into a FormatError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{folder.path / MANIFEST} does not describe an index: {error!r}.") from error


def model_checksum(parts: Mapping[str, Any], files: Mapping[str, FileEntry]) -> str:
    """Return the manifest's checksum of a model's description and files (its key is ``fingerprint``).

    Profiles name a model by its contents instead, ``Model.fingerprint``.
    """
    checksums = {name: entry.sha256 for name, entry in files.items()}
    return hashlib.sha256(json.dumps([parts, checksums], sort_keys=True).encode()).hexdigest()
