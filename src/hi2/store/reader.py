"""How is an index opened? The manifest is read, every file it names is mapped, sizes and headers are checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hi2.errors import FormatError
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.profile import Profile
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.arrays import FileEntry, map_file
from hi2.store.manifest import read_manifest
from hi2.store.named_files import Stored, child, entries, well_formed
from hi2.types import Array

#: How often a reader starts again because a commit removed a file it was about to open.
_MAX_ATTEMPTS = 10


def read_index(folder: Path, *, mmap: bool = True) -> Stored:
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


def _read(folder: Path, manifest: Mapping[str, Any], *, mmap: bool) -> Stored:
    with well_formed(folder):
        model_meta = manifest["model"]
        model_folder = child(folder, model_meta["folder"])
        model = Model.from_arrays(model_meta["parts"], _map_files(model_folder, model_meta["files"], mmap=mmap))
        segments = tuple(_read_segment(folder, model, data, mmap=mmap) for data in manifest["segments"])
        drift = manifest["drift"]
        df = None
        if drift["df"] is not None:
            df = map_file(child(folder, drift["df"]["file"]), FileEntry.from_json(drift["df"]), mmap=mmap)
            if df.shape != (model.n_terms,):
                raise FormatError(f"{folder}: the drift statistics are not of {model.n_terms} terms.")
        added = Added(int(drift["n_docs"]), int(drift["n_tokens"]), df)
        profiles = {str(name): Profile.from_json(own) for name, own in manifest.get("profiles", {}).items()}
        state = State(model, Snapshot(segments), added, int(manifest["next_id"]), bool(manifest["keep_text"]), profiles)
        return Stored(folder, state, manifest)
    raise AssertionError("unreachable")


def _read_segment(folder: Path, model: Model, data: Mapping[str, Any], *, mmap: bool) -> LiveSegment:
    own = child(folder, data["folder"])
    arrays = _map_files(own, data["files"], mmap=mmap)
    segment = Segment(model, SegmentMeta.from_json(data["numbers"]), arrays)
    if data["alive"] is None:
        return LiveSegment(segment)
    name, entry = str(data["alive"]["file"]), FileEntry.from_json(data["alive"])
    alive = map_file(child(own, name), entry, mmap=mmap)
    if alive.shape != ((segment.n_docs + 7) // 8,) or alive.dtype.str != "|u1":
        raise FormatError(f"{own / name}: it is not one bit a document.")
    return LiveSegment(segment, alive)


def _map_files(folder: Path, files: Mapping[str, Any], *, mmap: bool) -> dict[str, Array]:
    return {name: map_file(child(folder, name), entry, mmap=mmap) for name, entry in entries(files).items()}
