"""How is a change made durable? New files are written aside and flushed, then one manifest replaces the last.

Files are never changed once a manifest names them, and no name is given twice. Those of the previous manifest stay
until the next commit, for readers that are about to open them; files that neither manifest names are removed.
``FORMAT.md`` describes the layout.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from hi2.data.fork import make_locks
from hi2.errors import Error, FormatError, Locked
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment
from hi2.store.arrays import FileEntry, FolderSink, Pack, Sink, map_file, put_array, write_file
from hi2.store.folder import Folder
from hi2.store.lock import WriterLock
from hi2.store.manifest import MANIFEST, PREVIOUS, new_manifest, read_manifest, write_manifest
from hi2.store.named_files import Stored, entries, model_checksum, named_files
from hi2.types import U32, Array, Bytes

_log = logging.getLogger("hi2")

#: Writes the arrays of a segment to a sink.
WriteSegment = Callable[[Sink], SegmentMeta]
#: Writes a segment to disk and returns it.
PutSegment = Callable[[Model, WriteSegment], Segment]
#: The names of files and folders that a writer makes, and may remove.
_OWN_NAMES = re.compile(r"model(?:-\d{6,})?|segment-\d{6,}|drift-\d{6,}\.npy|words-\d{6,}\.txt")
_SEGMENT, _ALIVE = re.compile(r"segment-(\d{6,12})"), re.compile(r"alive-\d{6,}\.npy")


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
    """The one process that may change a folder, and what it knows to be there.

    One thread may write a segment while another commits; two commits at once are the caller's to prevent.
    """

    def __init__(self, folder: Folder, *, mmap: bool = True) -> None:
        self.folder = folder
        self._mmap = mmap
        self._lock = WriterLock(folder)
        #: The model that is on disk, and what the manifest says about it.
        self._model: Model | None = None
        self._model_part: dict[str, Any] | None = None
        #: The counts of terms that are on disk, and what the manifest says about their file.
        self._drift: tuple[U32, dict[str, Any]] | None = None
        #: What the manifest says about the file of words that were added since the fit.
        self._words: dict[str, Any] | None = None
        self._files: WeakKeyDictionary[Segment, _SegmentFiles] = WeakKeyDictionary()
        #: Segment folders that are being written, and those that no manifest has named yet.
        self._writing: set[str] = set()
        self._unnamed: set[str] = set()
        self._next_segment = 1
        #: The checksums that the current manifest may have: of the last commit, or of one that was interrupted.
        self._expected: set[str | None] = {None}
        self._unconfirmed: OSError | None = None
        make_locks(self)

    def renew_locks(self) -> None:
        """Make the lock of what a thread that writes a segment shares with one that commits."""
        self._guard = Lock()

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def adopt(self, stored: Stored) -> None:
        """Continue from a state that this folder holds."""
        manifest = stored.manifest
        self._expected = {manifest["checksum"]}
        self._model, self._model_part = stored.state.model, dict(manifest["model"])
        if stored.state.added.df is not None:
            self._drift = stored.state.added.df, dict(manifest["drift"]["df"])
        self._words = manifest["drift"].get("words")
        for live, data in zip(stored.state.snapshot.segments, manifest["segments"], strict=True):
            alive = None
            if live.alive is not None:
                alive = _AliveFile(live.alive, str(data["alive"]["file"]), FileEntry.from_json(data["alive"]))
            self._files[live.segment] = _SegmentFiles(str(data["folder"]), entries(self.folder, data["files"]), alive)
        # Version 1 kept no count: what lies in the folder is the best there is.
        found = [int(match[1]) for match in map(_SEGMENT.fullmatch, self.folder.names()) if match]
        self._next_segment = max(int(manifest.get("next_segment", 1)), 1 + max(found, default=0))
        if removed := self._collect_garbage():
            _log.info("Removed from %s what an interrupted change had left: %s.", self.folder, ", ".join(removed))

    def holds(self, segment: Segment) -> bool:
        """Return whether a segment is on disk, in a file of this folder."""
        return segment in self._files

    def write_segment(self, model: Model, write: WriteSegment, *, packed: bool = False) -> Segment:
        """Return the segment that ``write(sink)`` puts into a new folder, mapped or read. No manifest names it yet.

        ``packed`` writes one file instead of many, so that it is durable sooner; a larger segment is better apart.
        """
        self._lock.check()
        with self._guard:
            name = f"segment-{self._next_segment:06d}"
            self._next_segment += 1
            self._writing.add(name)
        try:
            with self.folder.make_child(name) as own:
                sink = FolderSink(own, packed=packed)
                try:
                    meta = write(sink)
                    sink.finish()
                finally:
                    sink.close()
                arrays = _read_back(own, sink.entries, mmap=self._mmap)
                segment = Segment(model, meta, arrays)
            with self._guard:
                self._files[segment] = _SegmentFiles(name, sink.entries)
                self._unnamed.add(name)
            return segment
        except BaseException:
            with suppress(OSError, FormatError):
                self.folder.remove(name)
            raise
        finally:
            self._writing.discard(name)

    def discard(self, segment: Segment) -> None:
        """Remove a segment that was written, unless a manifest names it."""
        named = self._named()
        with self._guard:
            files = self._files.pop(segment, None)
        if files is not None and named is not None and (files.folder, "") not in named:
            with suppress(OSError, FormatError):
                self.folder.remove(files.folder)

    @contextmanager
    def transaction(self, *, packed: bool = False) -> Iterator[PutSegment]:
        """Yield what writes the segments of a commit. If the commit fails, they are removed and the error says so."""
        self._lock.check()
        written: list[Segment] = []

        def put(model: Model, write: WriteSegment) -> Segment:
            written.append(self.write_segment(model, write, packed=packed))
            return written[-1]

        try:
            yield put
        except BaseException as error:
            for segment in written:
                self.discard(segment)
            if not isinstance(error, OSError) or self._expected == {None}:  # there is no previous commit
                raise
            raise Error(
                f"The commit to {self.folder} failed: {error}. The previous commit is intact and nothing was lost in "
                "memory; make room or give write access, then commit again."
            ) from error

    def commit(self, state: State) -> Stored:
        """Make a state durable and return it as the folder now holds it. Every segment must be on disk."""
        self._lock.check()
        last = None if self.folder.stat(MANIFEST) is None else read_manifest(self.folder)
        if (last and last["checksum"]) not in self._expected:
            raise Locked(
                f"Another writer has changed {self.folder} since this one opened it. Nothing was written; close this "
                "index and open it again."
            )
        # The folder knows which commit was the last, even if that one was interrupted after it took effect.
        generation = 1 if last is None else 1 + int(last["generation"])
        if self._model_part is None or state.model is not self._model:
            name = "model" if last is None else f"model-{generation:06d}"
            self._model, self._model_part = state.model, self._write_model(state.model, name)
            self._drift = self._words = None  # they belong to a model
        files = {live.segment: self._with_alive(live, generation) for live in state.snapshot.segments}
        content = {
            "generation": generation,
            "model": self._model_part,
            "segments": [_describe_segment(live, files[live.segment]) for live in state.snapshot.segments],
            "next_segment": self._next_segment,
            "drift": self._write_drift(state.added, generation) | self._write_words(state.model, generation),
            "next_id": state.next_id,
            "n_docs": state.snapshot.n_alive,
            "keep_text": state.keep_text,
            "columns": dict(state.columns),
            "grows": state.grows,
            "profiles": {name: profile.to_json() for name, profile in state.profiles.items()},
        }
        self.folder.sync()
        manifest = new_manifest(content)
        self._lock.check()
        self._replace_manifest(manifest)
        self._expected = {manifest["checksum"]}
        with self._guard:
            self._files.update(files)
            self._unnamed -= {own.folder for own in files.values()}
        self._collect_garbage()
        return Stored(self.folder, state, manifest)

    def confirm(self) -> None:
        """Raise Error if the last commit took effect, but the disk did not confirm that it will outlive a crash."""
        error, self._unconfirmed = self._unconfirmed, None
        if error is not None:
            raise Error(
                f"The commit to {self.folder} took effect, but the disk did not confirm it: {error}. It may be lost if "
                "the machine fails now; commit again."
            ) from error

    def _replace_manifest(self, manifest: dict[str, Any]) -> None:
        """Write a manifest. Once it is in place the commit has taken effect, whatever fails afterwards."""
        before = set(self._expected)
        self._expected = {*before, manifest["checksum"]}
        try:
            write_manifest(self.folder, manifest)
        except OSError as error:
            if before == {None} or not self._is_in_place(manifest, error):  # a first commit can be made again
                self._expected = before
                raise
            self._unconfirmed = error

    def _is_in_place(self, manifest: dict[str, Any], failure: OSError) -> bool:
        """Return whether a commit that failed took effect after all; where nobody knows, say so."""
        try:
            if self.folder.stat(MANIFEST) is None:
                return False
            return bool(read_manifest(self.folder)["checksum"] == manifest["checksum"])
        except (FormatError, OSError) as error:
            raise Error(
                f"It is not known whether the commit to {self.folder} took effect: {failure}; and then {error}. "
                "Nothing was lost in memory; commit again when the folder can be read."
            ) from failure

    def _write_model(self, model: Model, name: str) -> dict[str, Any]:
        self.folder.remove(name)  # left by a commit that failed
        with self.folder.make_child(name) as own:
            sink = FolderSink(own)
            description, arrays = model.to_arrays()
            for file, array in arrays.items():
                put_array(sink, file, array)
            own.sync()
        files = {file: entry.to_json() for file, entry in sink.entries.items()}
        checksum = model_checksum(description, sink.entries)
        return {"folder": name, "parts": description, "files": files, "fingerprint": checksum}

    def _with_alive(self, live: LiveSegment, generation: int) -> _SegmentFiles:
        """Return a segment's files with its alive bits, written unless they are there already."""
        files = self._files[live.segment]
        if live.alive is None:
            return replace(files, alive=None)
        if files.alive is not None and files.alive.bits is live.alive:
            return files
        name = f"alive-{generation:06d}.npy"
        with self.folder.child(files.folder) as own:
            own.unlink(name)  # left by a commit that failed
            entry = write_file(own, name, live.alive.dtype, live.alive.shape, [live.alive])
            own.sync()
        return replace(files, alive=_AliveFile(live.alive, name, entry))

    def _write_drift(self, added: Added, generation: int) -> dict[str, Any]:
        """Return what the manifest says about drift; the counts of terms are written unless they are there already."""
        if added.df is not None and (self._drift is None or self._drift[0] is not added.df):
            name = f"drift-{generation:06d}.npy"
            self.folder.unlink(name)  # left by a commit that failed
            entry = write_file(self.folder, name, added.df.dtype, added.df.shape, [added.df])
            self._drift = added.df, {"file": name, **entry.to_json()}
        df = None if added.df is None or self._drift is None else self._drift[1]
        return {"n_docs": added.n_docs, "n_tokens": added.n_tokens, "df": df}

    def _write_words(self, model: Model, generation: int) -> dict[str, Any]:
        """Return what the manifest says about words added since the fit; they are written if there are new ones."""
        dictionary = None if model.terms is None else getattr(model.terms.tokenizer, "dictionary", None)
        lines = np.frombuffer(b"" if dictionary is None else dictionary.lines_after(model.n_terms), np.uint8)
        if len(lines) == (0 if self._words is None else self._words["shape"][0]):
            return {"words": self._words}
        name = f"words-{generation:06d}.txt"
        self.folder.unlink(name)  # left by a commit that failed
        entry = write_file(self.folder, name, lines.dtype, lines.shape, [lines])
        self._words = {"file": name, **entry.to_json()}
        return {"words": self._words}

    def _named(self) -> set[tuple[str, str]] | None:
        """What the manifests name, as (folder, file) and (folder, ""); None if one is there but cannot be read."""
        named: set[tuple[str, str]] = set()
        try:
            for manifest in (MANIFEST, PREVIOUS):
                if self.folder.stat(manifest) is not None:
                    for file in named_files(self.folder, read_manifest(self.folder, manifest)):
                        named |= {(file.folder, file.name), (file.folder, "")}
        except (FormatError, OSError):
            return None
        return named

    def _collect_garbage(self) -> list[str]:
        """Remove files of ours that no manifest names. Whatever is in doubt, or cannot be removed now, stays."""
        named = self._named()
        removed: list[str] = []
        if named is None:
            return removed
        with suppress(OSError):
            found = self.folder.names()  # listed first: what another thread begins to write from now on is not in it
            with self._guard:  # a later commit may name these
                self._unnamed &= {files.folder for files in self._files.values()}
                used = self._writing | self._unnamed
            for name in found:
                with suppress(OSError, FormatError):
                    if not _OWN_NAMES.fullmatch(name):
                        continue
                    if ("", name) not in named and (name, "") not in named and name not in used:
                        self.folder.remove(name)
                        removed.append(name)
                    elif _SEGMENT.fullmatch(name):
                        self._collect_alive_bits(name, named)
        return removed

    def _collect_alive_bits(self, name: str, named: set[tuple[str, str]]) -> None:
        with self.folder.child(name) as own:
            for file in own.names():
                if _ALIVE.fullmatch(file) and (name, file) not in named:
                    own.unlink(file)


def _read_back(folder: Folder, written: Mapping[str, FileEntry], *, mmap: bool) -> dict[str, Array]:
    """The arrays that were written, mapped or read."""
    pack = Pack(folder, mmap=mmap) if any(entry.at is not None for entry in written.values()) else None
    return {
        name: map_file(folder, name, entry, mmap=mmap) if pack is None else pack.array(name, entry)
        for name, entry in written.items()
    }


def _describe_segment(live: LiveSegment, files: _SegmentFiles) -> dict[str, Any]:
    alive = None if files.alive is None else {"file": files.alive.name, **files.alive.entry.to_json()}
    return {
        "folder": files.folder,
        "numbers": live.segment.meta.to_json(),
        "files": {name: entry.to_json() for name, entry in files.entries.items()},
        "alive": alive,
        "n_alive": live.n_alive,
    }
