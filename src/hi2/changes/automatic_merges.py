"""Which merges happen by themselves? After an add those in memory, after a commit those on disk; and when is it fitted?

They run after the change they follow, in the thread that made it, while other threads go on. One that fails, on a full
disk for instance, is put off until the next commit: the change before it has taken effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from hi2.changes.merge import merge_segments
from hi2.changes.merge_policy import plan_merge
from hi2.changes.open_index import OpenIndex
from hi2.changes.refit_in_place import fit_after_growth
from hi2.errors import Error
from hi2.progress import Progress
from hi2.state.snapshot import LiveSegment

#: Documents added to an index on disk leave memory when there are this many of them.
SEAL_DOCUMENTS = 1 << 16

_log = logging.getLogger("hi2")


def merge_after_add(index: OpenIndex, progress: Progress) -> None:
    """Merge segments in memory as planned. Of an index on disk, many documents leave memory."""

    def merge() -> None:
        _merge_as_planned(index, progress, on_disk=False)
        in_memory = segments_of(index, on_disk=False)
        may_seal = index.writer is not None and not index.merges_put_off
        if may_seal and sum(live.n_alive for live in in_memory) >= SEAL_DOCUMENTS:
            merge_segments(index, in_memory, index.writer, progress)
            _merge_as_planned(index, progress, on_disk=True)
        fit_after_growth(index, progress)

    _run(index, merge)


def merge_after_commit(index: OpenIndex, progress: Progress) -> bool:
    """Merge segments on disk as planned, and return whether there were any. The next commit makes it durable."""
    index.merges_put_off = False
    before = [live.segment for live in segments_of(index, on_disk=True)]
    _run(index, partial(_merge_as_planned, index, progress, on_disk=True))
    return [live.segment for live in segments_of(index, on_disk=True)] != before


def segments_of(index: OpenIndex, *, on_disk: bool) -> tuple[LiveSegment, ...]:
    """Return the segments that are on disk, or those that are in memory, which follow them."""
    segments, writer = index.state.snapshot.segments, index.writer
    n_disk = 0 if writer is None else sum(writer.holds(live.segment) for live in segments)
    return segments[:n_disk] if on_disk else segments[n_disk:]


def _merge_as_planned(index: OpenIndex, progress: Progress, *, on_disk: bool) -> None:
    segments = segments_of(index, on_disk=on_disk)
    while plan := plan_merge(segments):
        merge_segments(index, segments[slice(*plan)], index.writer if on_disk else None, progress)
        segments = segments_of(index, on_disk=on_disk)


def _run(index: OpenIndex, merge: Callable[[], None]) -> None:
    """Merge, unless another thread is merging: it will see what there is."""
    if not index.merging.acquire(blocking=False):
        return
    try:
        if not index.closed:
            merge()
    except (OSError, MemoryError, Error) as error:
        index.merges_put_off = True
        until = "commit" if index.writer is not None else "add"
        _log.warning("A merge was put off until the next %s: %s", until, error)
    finally:
        index.merging.release()
