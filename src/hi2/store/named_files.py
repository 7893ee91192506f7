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
from hi2.store.manifest import MANIFEST


@dataclass(frozen=True)
class Stored:
    """A state as a folder holds it."""

    folder: Path
    state: State
    manifest: Mapping[str, Any]


def child(folder: Path, name: str) -> Path:
    """Return the path of a file that a manifest names; refuse one outside the folder."""
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise FormatError(f"{folder / MANIFEST} names a file outside the index: {name!r}.")
    return folder / name


def entries(data: Mapping[str, Any]) -> dict[str, FileEntry]:
    """Return the file entries of a model or a segment by name."""
    return {str(name): FileEntry.from_json(entry) for name, entry in data.items()}


def named_files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[Path, FileEntry]]:
    """Yield every file that a manifest names, with what it says about it."""
    with well_formed(folder):
        for part in (manifest["model"], *manifest["segments"]):
            own = child(folder, part["folder"])
            for name, entry in entries(part["files"]).items():
                yield child(own, name), entry
            if part.get("alive"):
                yield child(own, part["alive"]["file"]), FileEntry.from_json(part["alive"])
        if manifest["drift"]["df"]:
            yield child(folder, manifest["drift"]["df"]["file"]), FileEntry.from_json(manifest["drift"]["df"])


@contextmanager
def well_formed(folder: Path) -> Iterator[None]:
    """Turn what goes wrong while a manifest's content is read into a FormatError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{folder / MANIFEST} does not describe an index: {error!r}.") from error


def model_checksum(parts: Mapping[str, Any], files: Mapping[str, FileEntry]) -> str:
    """Return the manifest's checksum of a model's description and files (its key is ``fingerprint``).

    Profiles name a model by its contents instead, ``Model.fingerprint``.
    """
    checksums = {name: entry.sha256 for name, entry in files.items()}
    return hashlib.sha256(json.dumps([parts, checksums], sort_keys=True).encode()).hexdigest()
