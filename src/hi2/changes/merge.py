"""What does a merge do? It replaces several segments by one that holds their living documents."""

from __future__ import annotations

from dataclasses import replace

from hi2.changes.open_index import OpenIndex
from hi2.errors import Error
from hi2.ingest.new_segment import merge_live, segment_in_memory
from hi2.progress import Phase, Progress
from hi2.state.index_state import State
from hi2.store.writer import Writer


def merge(index: OpenIndex, *, progress: bool | Progress | None) -> None:
    """Merge all segments into one, unless there is nothing to do."""
    with index.changing() as state:
        segments = state.snapshot.segments
        if len(segments) > 1 or any(live.alive is not None for live in segments):
            index.state = merge_range(state, 0, len(segments), index.writer, Progress.of(progress))


def merge_range(state: State, begin: int, end: int, writer: Writer | None, progress: Progress) -> State:
    """Return the state with segments [begin, end) merged: on disk with a writer, otherwise in memory."""
    if writer is None:
        segment = segment_in_memory(state.model, merge_live(state.model, state.snapshot.segments[begin:end]))
        return replace(state, snapshot=state.snapshot.with_merged(begin, end, segment))
    with progress.phase("merge", state.snapshot.n_alive) as report:
        try:
            return merge_to_disk(state, begin, end, writer, report)
        except OSError as error:
            raise Error(f"The merge failed: {error}. Nothing was changed; make room and merge again.") from error


def merge_to_disk(state: State, begin: int, end: int, writer: Writer, report: Phase) -> State:
    """Return the state with segments [begin, end) merged into one on disk; durable with the next commit."""
    segment = writer.write_segment(state.model, merge_live(state.model, state.snapshot.segments[begin:end], report))
    return replace(state, snapshot=state.snapshot.with_merged(begin, end, segment))
