"""What does a merge do? It replaces several segments by one that holds their living documents.

The new segment is written while other threads search, add and delete; only its taking the others' place is a change.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from hi2.changes.open_index import OpenIndex
from hi2.errors import Error
from hi2.ingest.new_segment import merge_live, segment_in_memory
from hi2.progress import AnyProgress, Progress
from hi2.state.snapshot import LiveSegment
from hi2.store.writer import Writer

_log = logging.getLogger("hi2")


def merge(index: OpenIndex, *, progress: AnyProgress) -> None:
    """Merge all segments into one, unless there is nothing to do."""
    with index.merging:
        segments = index.changeable_state().snapshot.segments
        while len(segments) > 1 or any(live.alive is not None for live in segments):
            try:
                if merge_segments(index, segments, index.writer, Progress.of(progress)):
                    return
            except OSError as error:
                raise Error(f"The merge failed: {error}. Nothing was changed; make room and merge again.") from error
            segments = index.changeable_state().snapshot.segments


def merge_segments(
    index: OpenIndex, segments: Sequence[LiveSegment], writer: Writer | None, progress: Progress
) -> bool:
    """Merge neighbours: on disk with a writer, otherwise in memory. On disk it becomes durable with the next commit.

    Documents that are deleted meanwhile are deleted from the merged segment too. Returns False if another change
    replaced the segments meanwhile, and the merge is of no use. The caller holds ``index.merging``.
    """
    model = index.state.model
    begin, n_docs = time.perf_counter(), sum(live.n_alive for live in segments)
    if writer is None:
        merged = segment_in_memory(model, merge_live(model, segments))
    else:
        with progress.phase("merge", n_docs) as report:
            merged = writer.write_segment(model, merge_live(model, segments, report))
    with index.changing() as state:
        snapshot = state.snapshot.with_merged(segments, merged)
        if snapshot is not None:
            index.state = replace(state, snapshot=snapshot)
            where = "in memory" if writer is None else f"of {writer.folder}"
            seconds = time.perf_counter() - begin
            _log.info("Merged %d segments %s, %d documents, in %.2f s.", len(segments), where, n_docs, seconds)
            return True
    if writer is not None:
        writer.discard(merged)
    return False
