"""How do changes become durable? Segments in memory are written as one, and the manifest is replaced."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hi2.arguments import boolean, folder_path
from hi2.changes.automatic_merges import merge_after_commit, segments_of
from hi2.changes.merge_policy import first_merged
from hi2.changes.open_index import OpenIndex
from hi2.errors import Error
from hi2.ingest.new_segment import merge_live
from hi2.progress import AnyProgress, Progress
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.arrays import Sink, put_array
from hi2.store.new_folder import new_folder
from hi2.store.writer import PutSegment, Writer

_log = logging.getLogger("hi2")

#: A commit of at most this many documents and bytes writes one file, and merges at most as many on the way.
SMALL_SEGMENT = 4096
SMALL_BYTES = 1 << 26


def commit(index: OpenIndex, *, progress: AnyProgress) -> None:
    """Make every change since the last commit durable at once; then merge what has become small or empty."""
    bars = Progress.of(progress)
    _commit(index, bars)
    if merge_after_commit(index, bars):
        try:
            _commit(index, bars)
        except (Error, OSError) as error:  # the commit that was asked for has taken effect
            _log.warning("A merge will be durable with the next commit: %s", error)


def _commit(index: OpenIndex, progress: Progress) -> None:
    begin = time.perf_counter()
    with index.changing() as state:
        if index.writer is None:
            raise Error("There is nothing to commit to: the index is in memory. Use save(path), then open it.")
        written = _written_as_one(segments_of(index, on_disk=True), segments_of(index, on_disk=False))
        n_bytes = sum(sum(live.segment.n_bytes.values()) for live in written)
        small = sum(live.n_alive for live in written) <= SMALL_SEGMENT and n_bytes <= SMALL_BYTES
        with index.writer.transaction(packed=small) as put:
            index.stored = index.writer.commit(_on_disk(state, written, put, progress) if written else state)
        index.state = index.stored.state
        _log.info(
            "Commit %d of %s: %d documents in %d segments, %.0f ms.",
            index.stored.manifest["generation"],
            index.stored.folder,
            index.state.snapshot.n_alive,
            len(index.state.snapshot.segments),
            1000 * (time.perf_counter() - begin),
        )
        index.writer.confirm()


def _written_as_one(on_disk: Sequence[LiveSegment], in_memory: Sequence[LiveSegment]) -> Sequence[LiveSegment]:
    """The segments that a commit writes as one: those in memory, and small ones before them that are due to be merged.

    So a run of small commits leaves few segments, and writes each only once.
    """
    if not in_memory:
        return ()
    sizes = [live.segment.n_docs for live in on_disk]
    begin = min(first_merged([*sizes, sum(live.n_alive for live in in_memory)]), len(on_disk))
    while sum(sizes[begin:]) > SMALL_SEGMENT:
        begin += 1
    return (*on_disk[begin:], *in_memory)


def _on_disk(state: State, in_memory: Sequence[LiveSegment], put: PutSegment, progress: Progress) -> State:
    """Return the state with its segments in memory written as one."""
    with progress.phase("write", sum(live.n_alive for live in in_memory)) as report:
        segment = put(state.model, merge_live(state.model, in_memory, report))
    snapshot = state.snapshot.with_merged(in_memory, segment)
    if snapshot is None:
        raise AssertionError("a state holds its own segments")
    return replace(state, snapshot=snapshot)


def save(state: State, path: str | Path, *, overwrite: bool, progress: AnyProgress) -> None:
    """Write a copy of a state to a new folder, or in the place of another index."""
    with (
        new_folder(folder_path("path", path), overwrite=boolean("overwrite", overwrite)) as writer,
        Progress.of(progress).phase("write", state.snapshot.n_alive) as report,
    ):
        segments = []
        for live in state.snapshot.segments:
            segments.append(LiveSegment(_copy(writer, state.model, live.segment), live.alive))
            report(live.n_alive)
        with writer.transaction():
            writer.commit(replace(state, snapshot=Snapshot(tuple(segments))))
        del segments  # Windows renames no folder whose files are mapped


def _copy(writer: Writer, model: Model, segment: Segment) -> Segment:
    def write(sink: Sink) -> SegmentMeta:
        for name, array in segment.arrays.items():
            put_array(sink, name, array)
        return segment.meta

    return writer.write_segment(model, write)
