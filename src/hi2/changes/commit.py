"""How do changes become durable? Segments in memory are written as one, and the manifest is replaced."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hi2.arguments import folder_path
from hi2.changes.automatic_merges import merge_after_commit, segments_of
from hi2.changes.open_index import OpenIndex
from hi2.errors import Error
from hi2.ingest.new_segment import merge_live
from hi2.progress import Progress
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.arrays import Sink, put_array
from hi2.store.new_folder import new_folder
from hi2.store.writer import PutSegment, Writer

_log = logging.getLogger("hi2")


def commit(index: OpenIndex, *, progress: bool | Progress | None) -> None:
    """Make every change since the last commit durable at once; then merge what has become small or empty."""
    bars = Progress.of(progress)
    _commit(index, bars)
    if merge_after_commit(index, bars):
        try:
            _commit(index, bars)
        except (Error, OSError) as error:  # the commit that was asked for has taken effect
            _log.warning("A merge will be durable with the next commit: %s", error)


def _commit(index: OpenIndex, progress: Progress) -> None:
    with index.changing() as state:
        if index.writer is None:
            raise Error("There is nothing to commit to: the index is in memory. Use save(path), then open it.")
        with index.writer.transaction() as put:
            in_memory = segments_of(index, on_disk=False)
            index.stored = index.writer.commit(_on_disk(state, in_memory, put, progress) if in_memory else state)
        index.state = index.stored.state
        index.writer.confirm()


def _on_disk(state: State, in_memory: Sequence[LiveSegment], put: PutSegment, progress: Progress) -> State:
    """Return the state with its segments in memory written as one."""
    with progress.phase("write", sum(live.n_alive for live in in_memory)) as report:
        segment = put(state.model, merge_live(state.model, in_memory, report))
    snapshot = state.snapshot.with_merged(in_memory, segment)
    if snapshot is None:
        raise AssertionError("a state holds its own segments")
    return replace(state, snapshot=snapshot)


def save(state: State, path: str | Path, *, progress: bool | Progress | None) -> None:
    """Write a copy of a state to a new folder."""
    with (
        new_folder(folder_path("path", path)) as writer,
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
