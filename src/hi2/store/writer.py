"""How is a change made durable? New files are written aside and flushed, then one manifest replaces the last.

Files are never changed once a manifest names them. Those of the previous manifest stay until the next commit, for
readers that are about to open them; files that neither manifest names are removed. ``FORMAT.md`` describes the layout.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from hi2.errors import Error, FormatError
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment
from hi2.store.arrays import FileEntry, FolderSink, Sink, map_file, put_array, write_file
from hi2.store.lock import WriterLock
from hi2.store.manifest import MANIFEST, PREVIOUS, read_manifest, sync_folder, write_manifest
from hi2.store.named_files import Stored, entries, model_checksum, named_files
from hi2.types import Bytes

#: Writes the arrays of a segment to a sink.
WriteSegment = Callable[[Sink], SegmentMeta]
#: The names of files and folders that a writer makes, and may remove.
_OWN_NAMES = re.compile(r"model|segment-\d{6,}|drift-\d{6,}\.npy|alive-\d{6,}\.npy")


@dataclass(frozen=True)
class _AliveFile:
    """Alive bits that are on disk."""

    bits: Bytes
    name: str
    entry: FileEntry


@dataclass(frozen=True)
class _SegmentFiles:
    """Where a segment is on disk, and what the manifest says about its files."""

    folder: str
    entries: Mapping[str, FileEntry]
    alive: _AliveFile | None = None


class Writer:
    """The one process that may change a folder, and what it knows to be there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = WriterLock(folder)
        self._model_part: dict[str, Any] | None = None
        self._files: WeakKeyDictionary[Segment, _SegmentFiles] = WeakKeyDictionary()

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def adopt(self, stored: Stored) -> None:
        """Continue from a state that this folder holds."""
        self._model_part = dict(stored.manifest["model"])
        for live, data in zip(stored.state.snapshot.segments, stored.manifest["segments"], strict=True):
            alive = None
            if live.alive is not None:
                alive = _AliveFile(live.alive, str(data["alive"]["file"]), FileEntry.from_json(data["alive"]))
            self._files[live.segment] = _SegmentFiles(str(data["folder"]), entries(data["files"]), alive)
        self._collect_garbage()

    def holds(self, segment: Segment) -> bool:
        """Return whether a segment is on disk, in a file of this folder."""
        return segment in self._files

    def write_segment(self, model: Model, write: WriteSegment) -> Segment:
        """Return the segment that ``write(sink)`` puts into a new folder, mapped. No manifest names it yet."""
        self._lock.check()
        taken = [path.name for path in self.folder.glob("segment-*")]
        number = 1 + max((int(name[8:]) for name in taken if name[8:].isdigit()), default=0)
        sink = FolderSink(self.folder / f"segment-{number:06d}")
        try:
            meta = write(sink)
            sync_folder(sink.folder)
            arrays = {name: map_file(sink.folder / name, entry) for name, entry in sink.entries.items()}
            segment = Segment(model, meta, arrays)
        except BaseException:
            shutil.rmtree(sink.folder, ignore_errors=True)
            raise
        self._files[segment] = _SegmentFiles(sink.folder.name, sink.entries)
        return segment

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a commit; if it fails, remove the segments it wrote and say that the previous commit is intact."""
        self._lock.check()
        before: set[Path] | None = None
        try:
            before = set(self.folder.iterdir())
            yield
        except BaseException as error:
            self._undo(before)
            if not isinstance(error, OSError):
                raise
            raise Error(
                f"The commit to {self.folder} failed: {error}. The previous commit is intact and nothing was lost in "
                "memory; make room or give write access, then commit again."
            ) from error

    def commit(self, state: State) -> Stored:
        """Make a state durable and return it as the folder now holds it. Every segment must be on disk."""
        # The folder knows which commit was the last, even if that one was interrupted after it took effect.
        current = self.folder / MANIFEST
        generation = 1 + (int(read_manifest(self.folder)["generation"]) if current.exists() else 0)
        if self._model_part is None:
            self._model_part = self._write_model(state.model)
        files = {live.segment: self._with_alive(live, generation) for live in state.snapshot.segments}
        sync_folder(self.folder)
        manifest = write_manifest(
            self.folder,
            {
                "generation": generation,
                "model": self._model_part,
                "segments": [_describe_segment(live, files[live.segment]) for live in state.snapshot.segments],
                "drift": self._write_drift(state.added, generation),
                "next_id": state.next_id,
                "n_docs": state.snapshot.n_alive,
                "keep_text": state.keep_text,
                "profiles": {name: profile.to_json() for name, profile in state.profiles.items()},
            },
        )
        self._files.update(files)
        self._collect_garbage()
        return Stored(self.folder, state, manifest)

    def _write_model(self, model: Model) -> dict[str, Any]:
        folder = self.folder / "model"
        if folder.exists():  # left by a commit that failed
            shutil.rmtree(folder)
        sink = FolderSink(folder)
        description, arrays = model.to_arrays()
        for name, array in arrays.items():
            put_array(sink, name, array)
        sync_folder(folder)
        files = {name: entry.to_json() for name, entry in sink.entries.items()}
        checksum = model_checksum(description, sink.entries)
        return {"folder": folder.name, "parts": description, "files": files, "fingerprint": checksum}

    def _with_alive(self, live: LiveSegment, generation: int) -> _SegmentFiles:
        """Return a segment's files with its alive bits, written unless they are there already."""
        files = self._files[live.segment]
        if live.alive is None:
            return replace(files, alive=None)
        if files.alive is not None and files.alive.bits is live.alive:
            return files
        name = f"alive-{generation:06d}.npy"
        path = self.folder / files.folder / name
        path.unlink(missing_ok=True)  # left by a commit that failed
        entry = write_file(path, live.alive.dtype, live.alive.shape, [live.alive])
        sync_folder(path.parent)
        return replace(files, alive=_AliveFile(live.alive, name, entry))

    def _write_drift(self, added: Added, generation: int) -> dict[str, Any]:
        df: dict[str, Any] | None = None
        if added.df is not None:
            name = f"drift-{generation:06d}.npy"
            (self.folder / name).unlink(missing_ok=True)
            entry = write_file(self.folder / name, added.df.dtype, added.df.shape, [added.df])
            df = {"file": name, **entry.to_json()}
        return {"n_docs": added.n_docs, "n_tokens": added.n_tokens, "df": df}

    def _undo(self, before: set[Path] | None) -> None:
        """Remove the segments that a failed commit wrote, unless its manifest took effect after all."""
        named = self._named_paths()
        if before is not None and named is not None:
            for path in set(self.folder.glob("segment-*")) - before - named:
                shutil.rmtree(path, ignore_errors=True)

    def _named_paths(self) -> set[Path] | None:
        """The files and folders that the manifests name; None if a manifest is there but cannot be read."""
        named: set[Path] = set()
        try:
            for name in (MANIFEST, PREVIOUS):
                if (self.folder / name).exists():
                    for path, _ in named_files(self.folder, read_manifest(self.folder, name)):
                        named |= {path, path.parent}
        except (FormatError, OSError):
            return None
        return named

    def _collect_garbage(self) -> None:
        """Remove files of ours that no manifest names. Whatever is in doubt, or cannot be removed now, stays."""
        named = self._named_paths()
        if named is None:
            return
        with suppress(OSError):
            for path in [*self.folder.iterdir(), *self.folder.glob("segment-*/alive-*.npy")]:
                if _OWN_NAMES.fullmatch(path.name) and path not in named:
                    with suppress(OSError):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _describe_segment(live: LiveSegment, files: _SegmentFiles) -> dict[str, Any]:
    alive = None if files.alive is None else {"file": files.alive.name, **files.alive.entry.to_json()}
    return {
        "folder": files.folder,
        "numbers": live.segment.meta.to_json(),
        "files": {name: entry.to_json() for name, entry in files.entries.items()},
        "alive": alive,
        "n_alive": live.n_alive,
    }
