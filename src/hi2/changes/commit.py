"""How do changes become durable? Segments in memory are written as one, small ones merged, the manifest replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hi2.changes.merge import merge_to_disk
from hi2.changes.merge_policy import plan_merge
from hi2.changes.open_index import OpenIndex
from hi2.errors import Error
from hi2.progress import Progress
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.arrays import Sink, put_array
from hi2.store.named_files import Stored
from hi2.store.new_folder import new_folder
from hi2.store.writer import Writer


def commit(index: OpenIndex, *, progress: bool | Progress | None) -> None:
    """Make every change since the last commit durable at once."""
    with index.changing() as state:
        if index.writer is None:
            raise Error("There is nothing to commit to: the index is in memory. Use save(path), then open it.")
        index.stored = _commit(state, index.writer, Progress.of(progress))
        index.state = index.stored.state


def save(state: State, path: str | Path, *, progress: bool | Progress | None) -> None:
    """Write a copy of a state to a new folder."""
    with new_folder(Path(path)) as writer:
        segments = tuple(
            LiveSegment(_copy(writer, state.model, live.segment), live.alive) for live in state.snapshot.segments
        )
        _commit(replace(state, snapshot=Snapshot(segments)), writer, Progress.of(progress))
        del segments  # Windows renames no folder whose files are mapped


def _commit(state: State, writer: Writer, progress: Progress) -> Stored:
    with writer.transaction():
        n_disk = sum(writer.holds(live.segment) for live in state.snapshot.segments)
        if n_disk < len(state.snapshot.segments):
            with progress.phase("write", None) as report:
                state = merge_to_disk(state, n_disk, len(state.snapshot.segments), writer, report)
        while plan := plan_merge(state.snapshot.segments):
            with progress.phase("merge", None) as report:
                state = merge_to_disk(state, *plan, writer, report)
        return writer.commit(state)


def _copy(writer: Writer, model: Model, segment: Segment) -> Segment:
    def write(sink: Sink) -> SegmentMeta:
        for name, array in segment.arrays.items():
            put_array(sink, name, array)
        return segment.meta

    return writer.write_segment(model, write)
