"""How is an index opened? The manifest is read, every file it names is mapped, sizes and headers are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hi2.errors import FormatError
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.profile import Profile
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.arrays import FileEntry, map_file
from hi2.store.folder import Folder
from hi2.store.manifest import read_manifest
from hi2.store.named_files import Stored, entries, plain_name, well_formed
from hi2.types import Array

#: How often a reader starts again because a commit removed a file it was about to open.
_MAX_ATTEMPTS = 10


def read_index(folder: Folder, *, mmap: bool = True) -> Stored:
    """Open the committed state of a folder. If a commit removes a file meanwhile, the newer state is opened."""
    for attempt in range(_MAX_ATTEMPTS):
        manifest = read_manifest(folder)
        try:
            return _read(folder, manifest, mmap=mmap)
        except FileNotFoundError as error:
            if attempt + 1 == _MAX_ATTEMPTS or read_manifest(folder)["generation"] == manifest["generation"]:
                raise FormatError(f"{error.filename} is missing; restore it from a copy.") from error
        except OSError as error:
            raise FormatError(f"{folder} cannot be read: {error}.") from error
    raise AssertionError("unreachable")


def _read(folder: Folder, manifest: Mapping[str, Any], *, mmap: bool) -> Stored:
    with well_formed(folder):
        model_data = manifest["model"]
        arrays = _map_files(folder, model_data["folder"], entries(folder, model_data["files"]), mmap=mmap)
        model = Model.from_arrays(model_data["parts"], arrays)
        segments = tuple(_read_segment(folder, model, data, mmap=mmap) for data in manifest["segments"])
        drift = manifest["drift"]
        df = None
        if drift["df"] is not None:
            name = plain_name(folder, drift["df"]["file"])
            df = map_file(folder, name, FileEntry.from_json(drift["df"]), mmap=mmap)
            if df.shape != (model.n_terms,) or df.dtype != np.uint32:
                raise FormatError(f"{folder}: the drift statistics are not of {model.n_terms} terms.")
        added = Added(_count(drift, "n_docs"), _count(drift, "n_tokens"), df)
        profiles = {str(name): Profile.from_json(own) for name, own in manifest.get("profiles", {}).items()}
        if not isinstance(manifest["keep_text"], bool):
            raise ValueError("keep_text must be true or false")
        for name in ("generation", "n_docs", *(["next_segment"] if manifest["version"] > 1 else [])):
            _count(manifest, name)
        state = State(model, Snapshot(segments), added, _count(manifest, "next_id"), manifest["keep_text"], profiles)
        return Stored(folder, state, manifest)
    raise AssertionError("unreachable")


def _count(data: Mapping[str, Any], name: str) -> int:
    count = data[name]
    if type(count) is not int or not 0 <= count <= 2**63:
        raise ValueError(f"{name} must be a count")
    return count


def _read_segment(folder: Folder, model: Model, data: Mapping[str, Any], *, mmap: bool) -> LiveSegment:
    files = entries(folder, data["files"])
    alive = None
    if data["alive"] is not None:
        alive = plain_name(folder, data["alive"]["file"])
        if alive in files:
            raise ValueError(f"{alive} is named twice")
        files[alive] = FileEntry.from_json(data["alive"])
    arrays = _map_files(folder, data["folder"], files, mmap=mmap)
    bits = None if alive is None else arrays.pop(alive)
    segment = Segment(model, SegmentMeta.from_json(data["numbers"]), arrays)
    if bits is not None and (bits.shape != ((segment.n_docs + 7) // 8,) or bits.dtype.str != "|u1"):
        raise FormatError(f"{folder.path / data['folder'] / str(alive)}: it is not one bit a document.")
    return LiveSegment(segment, bits)


def _map_files(folder: Folder, name: object, files: Mapping[str, FileEntry], *, mmap: bool) -> dict[str, Array]:
    with folder.child(plain_name(folder, name)) as own:
        return {name: map_file(own, name, entry, mmap=mmap) for name, entry in files.items()}
