"""How is an index kept on disk? Folders of arrays that are written once, named by one manifest that is replaced.

``FORMAT.md`` describes the layout. A commit writes new folders aside, flushes them, and replaces the manifest; files
that neither the new nor the previous manifest names are then removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hi2 import _native
from hi2.drift import Added
from hi2.errors import Error, FormatError, invalid
from hi2.merging import merge_segments, plan_merge
from hi2.model import Model
from hi2.profiles import Profile
from hi2.progress import Phase, Progress
from hi2.segment import Segment, SegmentFiles, SegmentMeta
from hi2.snapshot import Live, Snapshot
from hi2.storage.arrays import (
    FileEntry,
    FolderSink,
    MemorySink,
    check_array,
    check_file,
    map_file,
    put_array,
    write_file,
)
from hi2.storage.lock import WriterLock
from hi2.storage.manifest import MANIFEST, PREVIOUS, read_manifest, sync_folder, write_manifest
from hi2.types import Array

_ATTEMPTS = 10
_OURS = re.compile(r"model|segment-\d{6,}|drift-\d{6,}\.npy|alive-\d{6,}\.npy")


@dataclass(frozen=True)
class State:
    """Everything an index is: its model, its documents, and what has been counted."""

    model: Model
    snapshot: Snapshot
    added: Added
    next_id: int
    keep_text: bool
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    @cached_property
    def reader(self) -> _native.Reader:
        """What answers single queries of vector and text natively; the tokenizer is parsed when it is first used."""
        terms = self.model.terms
        if terms is None or terms.tokenizer.pieces is None:
            return self.vector_reader
        return self._reader(terms.tokenizer.pieces, terms.tokenizer.dropped, terms.mean_scores)

    @cached_property
    def vector_reader(self) -> _native.Reader:
        """What answers single queries of a vector alone natively."""
        return self._reader(None, None, None)

    def _reader(self, *text: Any) -> _native.Reader:
        ids = [live.segment.ids for live in self.snapshot.lives]
        return _native.Reader(self.model.native, self.snapshot.native, ids, *text)


@dataclass(frozen=True)
class Stored:
    """A state as a folder holds it."""

    folder: Path
    state: State
    manifest: Mapping[str, Any]


# -- reading ----------------------------------------------------------------------------------------------------------


def read_index(folder: Path, *, mmap: bool = True) -> Stored:
    """Open the committed state of a folder; if a commit removes a file meanwhile, open the newer state."""
    for attempt in range(_ATTEMPTS):
        manifest = read_manifest(folder)
        try:
            return _read(folder, manifest, mmap=mmap)
        except FileNotFoundError as error:
            if attempt + 1 == _ATTEMPTS or read_manifest(folder)["generation"] == manifest["generation"]:
                raise FormatError(f"{error.filename} is missing; restore it from a copy.") from error
        except OSError as error:
            raise FormatError(f"{folder} cannot be read: {error}.") from error
    raise AssertionError("unreachable")


def _read(folder: Path, manifest: Mapping[str, Any], *, mmap: bool) -> Stored:
    with _well_formed(folder):
        model_meta = manifest["model"]
        model_folder = _child(folder, model_meta["folder"])
        files = _entries(model_meta["files"])
        arrays = {name: map_file(_child(model_folder, name), files[name], mmap=mmap) for name in files}
        model = Model.read(model_meta["parts"], arrays)
        lives = tuple(_read_live(folder, model, data, mmap=mmap) for data in manifest["segments"])
        drift = manifest["drift"]
        df = None
        if drift["df"] is not None:
            df = map_file(_child(folder, drift["df"]["file"]), FileEntry.from_json(drift["df"]), mmap=mmap)
            if df.shape != (model.n_terms,):
                raise FormatError(f"{folder}: the drift statistics are not of {model.n_terms} terms.")
        added = Added(int(drift["n_docs"]), int(drift["n_tokens"]), df)
        profiles = {str(name): Profile.from_json(own) for name, own in manifest.get("profiles", {}).items()}
        state = State(model, Snapshot(lives), added, int(manifest["next_id"]), bool(manifest["keep_text"]), profiles)
        return Stored(folder, state, manifest)
    raise AssertionError("unreachable")


def _read_live(folder: Path, model: Model, data: Mapping[str, Any], *, mmap: bool) -> Live:
    own = _child(folder, data["folder"])
    entries = _entries(data["files"])
    arrays = {name: map_file(_child(own, name), entries[name], mmap=mmap) for name in entries}
    files = SegmentFiles(str(data["folder"]), entries)
    segment = Segment(model, SegmentMeta.from_json(data["numbers"]), arrays, files)
    if data["alive"] is None:
        return Live(segment)
    name, entry = str(data["alive"]["file"]), FileEntry.from_json(data["alive"])
    alive = map_file(_child(own, name), entry, mmap=mmap)
    if alive.shape != ((segment.n_docs + 7) // 8,) or alive.dtype.str != "|u1":
        raise FormatError(f"{own / name}: it is not one bit a document.")
    return Live(segment, alive, (name, entry))


def check_files(stored: Stored) -> None:
    """Raise FormatError if a file of the state is not what was written, or the manifest contradicts the files."""
    read_manifest(stored.folder)
    for path, entry in _files(stored.folder, stored.manifest):
        try:
            check_file(path, entry)
        except FileNotFoundError:  # a later commit has removed it: what is open must still be what was written
            check_array(path, entry, _open_arrays(stored)[path])
    manifest, snapshot = stored.manifest, stored.state.snapshot
    with _well_formed(stored.folder):
        model = manifest["model"]
        checksum = _model_checksum(model["parts"], _entries(model["files"]))
        stated = [manifest["n_docs"], *(data["n_alive"] for data in manifest["segments"]), model["fingerprint"]]
        actual = [snapshot.n_alive, *(live.n_alive for live in snapshot.lives), checksum]
        if stated != actual:
            raise FormatError(f"{stored.folder / MANIFEST} states {stated} where the files hold {actual}.")


def _open_arrays(stored: Stored) -> dict[Path, Array]:
    """The arrays of a state by the files that the manifest names for them."""
    state, manifest, folder = stored.state, stored.manifest, stored.folder
    sink = MemorySink()
    state.model.write(sink)
    arrays = {folder / manifest["model"]["folder"] / name: array for name, array in sink.arrays.items()}
    for live, data in zip(state.snapshot.lives, manifest["segments"], strict=True):
        own = folder / data["folder"]
        arrays |= {own / name: array for name, array in live.segment.arrays.items()}
        if live.alive is not None and data["alive"] is not None:
            arrays[own / data["alive"]["file"]] = live.alive
    if state.added.df is not None and manifest["drift"]["df"] is not None:
        arrays[folder / manifest["drift"]["df"]["file"]] = state.added.df
    return arrays


def _files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[Path, FileEntry]]:
    with _well_formed(folder):
        for part in (manifest["model"], *manifest["segments"]):
            own = _child(folder, part["folder"])
            for name, entry in _entries(part["files"]).items():
                yield _child(own, name), entry
            if part.get("alive"):
                yield _child(own, part["alive"]["file"]), FileEntry.from_json(part["alive"])
        if manifest["drift"]["df"]:
            yield _child(folder, manifest["drift"]["df"]["file"]), FileEntry.from_json(manifest["drift"]["df"])


@contextmanager
def _well_formed(folder: Path) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{folder / MANIFEST} does not describe an index: {error!r}.") from error


def _entries(data: Mapping[str, Any]) -> dict[str, FileEntry]:
    return {str(name): FileEntry.from_json(entry) for name, entry in data.items()}


def _model_checksum(parts: Mapping[str, Any], files: Mapping[str, FileEntry]) -> str:
    """The manifest's own checksum of the model's description and files; profiles name a model by its contents."""
    checksums = {name: entry.sha256 for name, entry in files.items()}
    return hashlib.sha256(json.dumps([parts, checksums], sort_keys=True).encode()).hexdigest()


def _child(folder: Path, name: str) -> Path:
    """A manifest names files of its own folder and no others."""
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise FormatError(f"{folder / MANIFEST} names a file outside the index: {name!r}.")
    return folder / name


# -- writing ----------------------------------------------------------------------------------------------------------


class Writer:
    """The one process that may change a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = WriterLock(folder)
        self._model_part: dict[str, Any] | None = None

    def close(self) -> None:
        """Give the lock back."""
        self._lock.close()

    def adopt(self, stored: Stored) -> None:
        """Go on from a state this folder holds."""
        self._model_part = dict(stored.manifest["model"])
        self._collect_garbage()

    def new_segment_sink(self) -> FolderSink:
        """Return a sink to a folder of the index that no manifest names yet."""
        taken = [path.name for path in self.folder.glob("segment-*")]
        number = 1 + max((int(name[8:]) for name in taken if name[8:].isdigit()), default=0)
        return FolderSink(self.folder / f"segment-{number:06d}")

    def open_segment(self, model: Model, meta: SegmentMeta, sink: FolderSink) -> Segment:
        """Return the segment just written to a sink, mapped."""
        sync_folder(sink.folder)
        arrays = {name: map_file(sink.folder / name, entry) for name, entry in sink.entries.items()}
        return Segment(model, meta, arrays, SegmentFiles(sink.folder.name, sink.entries))

    def merge(self, state: State, begin: int, end: int, report: Phase = lambda steps: None) -> State:
        """Replace segments [begin, end) by one on disk; durable with the next commit."""
        self._lock.check()
        lives = state.snapshot.lives[begin:end]
        sink = self.new_segment_sink()
        try:
            meta = merge_segments(sink, state.model, lives, report)
            segment = self.open_segment(state.model, meta, sink)
        except BaseException:
            shutil.rmtree(sink.folder, ignore_errors=True)
            raise
        return replace(state, snapshot=state.snapshot.with_merged(begin, end, segment))

    def commit(self, state: State, progress: Progress) -> Stored:
        """Make a state durable and return it as the folder now holds it; nothing is read back."""
        self._lock.check()
        before: set[Path] | None = None
        try:
            before = set(self.folder.iterdir())
            return self._commit(state, progress)
        except BaseException as error:
            self._undo(before)
            if not isinstance(error, OSError):
                raise
            raise Error(
                f"The commit to {self.folder} failed: {error}. The previous commit is intact and nothing was lost in "
                "memory; make room or give write access, then commit again."
            ) from error

    def _commit(self, state: State, progress: Progress) -> Stored:
        n_disk = sum(live.segment.files is not None for live in state.snapshot.lives)
        if n_disk < len(state.snapshot.lives):
            with progress.phase("write", None) as report:
                state = self.merge(state, n_disk, len(state.snapshot.lives), report)
        while plan := plan_merge(state.snapshot.lives):
            with progress.phase("merge", None) as report:
                state = self.merge(state, *plan, report)
        # The folder knows which commit was the last, also if that one was interrupted after it took effect.
        current = self.folder / MANIFEST
        generation = 1 + (int(read_manifest(self.folder)["generation"]) if current.exists() else 0)
        if self._model_part is None:
            self._model_part = self._write_model(state.model)
        lives = tuple(self._write_alive(live, generation) for live in state.snapshot.lives)
        state = replace(state, snapshot=Snapshot(lives))
        sync_folder(self.folder)
        manifest = write_manifest(
            self.folder,
            {
                "generation": generation,
                "model": self._model_part,
                "segments": [_live_json(live) for live in lives],
                "drift": self._write_drift(state.added, generation),
                "next_id": state.next_id,
                "n_docs": state.snapshot.n_alive,
                "keep_text": state.keep_text,
                "profiles": {name: own.to_json() for name, own in state.profiles.items()},
            },
        )
        self._collect_garbage()
        return Stored(self.folder, state, manifest)

    def _write_model(self, model: Model) -> dict[str, Any]:
        folder = self.folder / "model"
        if folder.exists():  # left by a commit that failed
            shutil.rmtree(folder)
        sink = FolderSink(folder)
        meta = model.write(sink)
        sync_folder(folder)
        files = {name: entry.to_json() for name, entry in sink.entries.items()}
        checksum = _model_checksum(meta, sink.entries)
        return {"folder": folder.name, "parts": meta, "files": files, "fingerprint": checksum}

    def _write_alive(self, live: Live, generation: int) -> Live:
        files = live.segment.files
        if live.alive is None or live.alive_file is not None or files is None:
            return live
        name = f"alive-{generation:06d}.npy"
        path = self.folder / files.folder / name
        path.unlink(missing_ok=True)  # left by a commit that failed
        entry = write_file(path, live.alive.dtype, live.alive.shape, [live.alive])
        sync_folder(path.parent)
        return replace(live, alive_file=(name, entry))

    def _write_drift(self, added: Added, generation: int) -> dict[str, Any]:
        df: dict[str, Any] | None = None
        if added.df is not None:
            name = f"drift-{generation:06d}.npy"
            (self.folder / name).unlink(missing_ok=True)
            entry = write_file(self.folder / name, added.df.dtype, added.df.shape, [added.df])
            df = {"file": name, **entry.to_json()}
        return {"n_docs": added.n_docs, "n_tokens": added.n_tokens, "df": df}

    def _undo(self, before: set[Path] | None) -> None:
        """Remove what a failed commit wrote, unless its manifest took effect after all."""
        named = self._named_files()
        if before is not None and named is not None:
            for path in set(self.folder.glob("segment-*")) - before - named:
                shutil.rmtree(path, ignore_errors=True)

    def _named_files(self) -> set[Path] | None:
        """The files, and their folders, that the manifests name; None if a manifest is there but cannot be read."""
        named: set[Path] = set()
        try:
            for name in (MANIFEST, PREVIOUS):
                if (self.folder / name).exists():
                    for path, _ in _files(self.folder, read_manifest(self.folder, name)):
                        named |= {path, path.parent}
        except (FormatError, OSError):
            return None
        return named

    def _collect_garbage(self) -> None:
        """Remove files of ours that no manifest names; whatever is in doubt or cannot be removed now stays."""
        named = self._named_files()
        if named is None:
            return
        with suppress(OSError):
            for path in [*self.folder.iterdir(), *self.folder.glob("segment-*/alive-*.npy")]:
                if _OURS.fullmatch(path.name) and path not in named:
                    with suppress(OSError):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def new_folder(folder: Path) -> Iterator[Writer]:
    """Yield a writer to a folder aside, which takes its name at once when the block ends and goes away if it fails."""
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


def write_copy(folder: Path, state: State, progress: Progress) -> None:
    """Write a state as a new folder."""
    with new_folder(folder) as writer:
        # No name here keeps a map: Windows renames no folder whose files are mapped.
        lives = tuple(Live(_copied(writer, state.model, live.segment), live.alive) for live in state.snapshot.lives)
        writer.commit(replace(state, snapshot=Snapshot(lives)), progress)
        del lives


def _copied(writer: Writer, model: Model, segment: Segment) -> Segment:
    sink = writer.new_segment_sink()
    for name, array in segment.arrays.items():
        put_array(sink, name, array)
    return writer.open_segment(model, segment.meta, sink)


def _live_json(live: Live) -> dict[str, Any]:
    files = live.segment.files
    if files is None:
        raise AssertionError("a segment was not written")
    alive = None if live.alive_file is None else {"file": live.alive_file[0], **live.alive_file[1].to_json()}
    return {
        "folder": files.folder,
        "numbers": live.segment.meta.to_json(),
        "files": {name: entry.to_json() for name, entry in files.entries.items()},
        "alive": alive,
        "n_alive": live.n_alive,
    }
