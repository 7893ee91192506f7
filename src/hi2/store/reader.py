"""How is an index opened? The manifest is read, every file it names is mapped, sizes and headers are checked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from hi2.errors import FormatError
from hi2.filters.column_types import KINDS
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.profile import Profile
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.arrays import FileEntry, OpenArray, Pack
from hi2.store.folder import Folder
from hi2.store.manifest import read_manifest
from hi2.store.named_files import Stored, named_files, well_formed
from hi2.text.dictionary import Dictionary
from hi2.types import Array

#: How often a reader starts again because a commit removed a file it was about to open.
_MAX_ATTEMPTS = 10
#: Files up to this many bytes are read at once; of larger ones, this many wait with their descriptors open.
_SMALL, _MAX_WAITING = 1 << 20, 100


def read_index(folder: Folder, *, mmap: bool = True, known: Stored | None = None) -> Stored:
    """Open the committed state of a folder. If a commit removes a file meanwhile, the newer state is opened.

    What has not changed since ``known`` is taken from it and not read again.
    """
    for attempt in range(_MAX_ATTEMPTS):
        manifest = read_manifest(folder)
        if known is not None and manifest["checksum"] == known.manifest["checksum"]:
            return known
        try:
            return _read(folder, manifest, mmap=mmap, known=known)
        except FileNotFoundError as error:
            if attempt + 1 == _MAX_ATTEMPTS or read_manifest(folder)["generation"] == manifest["generation"]:
                raise FormatError(f"{error.filename} is missing; restore it from a copy.") from error
        except OSError as error:
            raise FormatError(f"{folder} cannot be read: {error}.") from error
    raise AssertionError("unreachable")


def _read(folder: Folder, manifest: Mapping[str, Any], *, mmap: bool, known: Stored | None) -> Stored:
    with well_formed(folder):
        model_data = manifest["model"]
        if known is not None and not _continues(known.manifest, manifest):
            known = None
        kept = {} if known is None else _kept_segments(known, manifest)
        files = _open_files(folder, manifest, mmap=mmap, without=_held(known, kept))
        model = (
            Model.from_arrays(model_data["parts"], _of_folder(files, model_data))
            if known is None
            else known.state.model
        )
        segments = tuple(
            _read_segment(folder, model, data, files, kept.get(data["folder"])) for data in manifest["segments"]
        )
        drift = manifest["drift"]
        df = None if drift["df"] is None else files["", drift["df"]["file"]]
        if drift.get("words") is not None:
            if model.terms is None or not hasattr(model.terms.tokenizer, "dictionary"):
                raise FormatError(f"{folder}: words were added to a tokenizer that has no dictionary.")
            _add_words(model.terms.tokenizer.dictionary, files["", drift["words"]["file"]].tobytes(), model.n_terms)
        n_terms = 0 if model.terms is None else model.terms.tokenizer.n_terms
        if df is not None and (df.dtype != np.uint32 or df.ndim != 1 or not model.n_terms <= len(df) <= n_terms):
            raise FormatError(f"{folder}: the drift statistics are not of {n_terms} terms.")
        added = Added(_count(drift, "n_docs"), _count(drift, "n_tokens"), df)
        profiles = {str(name): Profile.from_json(own) for name, own in manifest.get("profiles", {}).items()}
        if not isinstance(manifest["keep_text"], bool):
            raise ValueError("keep_text must be true or false")
        _count(manifest, "n_docs")
        for name in ("generation", *(["next_segment"] if manifest["version"] > 1 else [])):
            _count(manifest, name, high=2**62)
        columns = manifest.get("columns", {})
        if not isinstance(columns, dict) or any(kind not in KINDS for kind in columns.values()):
            raise ValueError("columns must have types")
        keep_text, next_id = manifest["keep_text"], _count(manifest, "next_id")
        grows = manifest.get("grows", False)
        if not isinstance(grows, bool):
            raise ValueError("grows must be true or false")
        state = State(model, Snapshot(segments), added, next_id, keep_text, profiles, columns, grows)
        return Stored(folder, state, manifest)
    raise AssertionError("unreachable")


def _continues(before: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Whether a later commit has the model of an earlier one."""
    return bool(before["version"] == manifest["version"] and before["model"] == manifest["model"])


def _kept_segments(known: Stored, manifest: Mapping[str, Any]) -> dict[str, LiveSegment]:
    """The segments that a later commit has too, by folder."""
    before = {data["folder"]: data for data in known.manifest["segments"]}
    live = {
        data["folder"]: own for data, own in zip(known.manifest["segments"], known.state.snapshot.segments, strict=True)
    }
    same = ("numbers", "files")
    return {
        data["folder"]: live[data["folder"]]
        for data in manifest["segments"]
        if data["folder"] in before and all(before[data["folder"]][key] == data[key] for key in same)
    }


def _held(known: Stored | None, kept: Mapping[str, LiveSegment]) -> set[str]:
    """The folders whose arrays are open already."""
    return set() if known is None else {known.manifest["model"]["folder"], *kept}


def _add_words(dictionary: Dictionary, lines: bytes, n_fitted: int) -> None:
    """Give a dictionary the words that were added since the fit, those that it has not yet."""
    have = dictionary.lines_after(n_fitted)
    if not lines.startswith(have):
        raise FormatError("The index is damaged: its added words are not those of the commit before and new ones.")
    if len(lines) > len(have):
        dictionary.add_lines(lines[len(have) :])


def _open_files(
    folder: Folder, manifest: Mapping[str, Any], *, mmap: bool, without: set[str]
) -> dict[tuple[str, str], Array]:
    """Return the arrays that a manifest names, by folder and file; of some folders only the alive bits.

    Without maps, large files are opened first and read afterwards: reading takes time in which a commit may remove
    files that are not open yet.
    """
    arrays: dict[tuple[str, str], Array] = {}
    waiting: dict[tuple[str, str], OpenArray] = {}
    packs: dict[str, Pack] = {}
    packed: dict[str, list[FileEntry]] = {}
    with ExitStack() as stack:
        folders = {"": folder}
        for named in named_files(folder, manifest):
            place = named.folder, named.name
            if named.folder in without and not named.name.startswith("alive-"):
                continue
            if place in arrays or place in waiting:
                raise ValueError(f"{named.name} is named twice")
            if named.folder not in folders:
                folders[named.folder] = stack.enter_context(folder.child(named.folder))
            if named.entry.at is not None:
                if named.folder not in packs:
                    packs[named.folder] = Pack(folders[named.folder], mmap=mmap)
                arrays[place] = packs[named.folder].array(named.name, named.entry)
                packed.setdefault(named.folder, []).append(named.entry)
                continue
            file = OpenArray(folders[named.folder], named.name, named.entry)
            if mmap or file.size <= _SMALL or len(waiting) == _MAX_WAITING:
                with file:
                    arrays[place] = file.map() if mmap else file.read()
            else:
                waiting[place] = stack.enter_context(file)
        for name, pack in packs.items():
            pack.check_rest(packed[name])
        return arrays | {place: file.read() for place, file in waiting.items()}


def _of_folder(files: Mapping[tuple[str, str], Array], data: Mapping[str, Any]) -> dict[str, Array]:
    return {str(name): files[data["folder"], name] for name in data["files"]}


def _count(data: Mapping[str, Any], name: str, *, high: int = 2**63) -> int:
    count = data[name]
    if type(count) is not int or not 0 <= count <= high:
        raise ValueError(f"{name} must be a count")
    return count


def _read_segment(
    folder: Folder,
    model: Model,
    data: Mapping[str, Any],
    files: Mapping[tuple[str, str], Array],
    kept: LiveSegment | None,
) -> LiveSegment:
    numbers = SegmentMeta.from_json(data["numbers"])
    segment = Segment(model, numbers, _of_folder(files, data)) if kept is None else kept.segment
    if data["alive"] is None:
        return LiveSegment(segment) if kept is None or kept.alive is not None else kept
    name = data["alive"]["file"]
    bits = files[data["folder"], name]
    if kept is not None and kept.alive is not None and np.array_equal(bits, kept.alive):
        return kept
    if bits.shape != ((segment.n_docs + 7) // 8,) or bits.dtype.str != "|u1":
        raise FormatError(f"{folder.path / data['folder'] / name}: it is not one bit per document.")
    return LiveSegment(segment, bits)
