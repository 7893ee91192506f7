"""Which segments are merged? Small ones that larger ones have followed, and those with many deleted documents.

A segment is merged with all that came after it once these hold ``GROWTH`` - 1 times as many documents. The sizes that
remain fall geometrically, so an index of N documents has O(log N) segments. A merge of p_i·M documents from each
segment i raises the sum over documents of log2(size of its segment) by M·H(p), at least 0.81·M besides what is new or
was deleted. That sum never exceeds N·log2 N, so a document is rewritten O(log N) times, however they arrive.
"""

from __future__ import annotations

from collections.abc import Sequence

from hi2.state.snapshot import LiveSegment

#: A merge holds at least this many times the documents of its first segment.
GROWTH = 4
#: A segment with a larger share of deleted documents is rewritten.
MAX_DEAD_SHARE = 0.5


def first_merged(sizes: Sequence[int]) -> int:
    """Return the first of some segments, by their documents, that is merged with all after it; their number if none."""
    begin, later = len(sizes), 0
    for position in reversed(range(len(sizes))):
        if later >= (GROWTH - 1) * max(sizes[position], 1):
            begin = position
        later += sizes[position]
    return begin


def plan_merge(segments: Sequence[LiveSegment]) -> tuple[int, int] | None:
    """Return the next range [begin, end) of segments to merge, None if there is nothing to do."""
    begin = first_merged([live.segment.n_docs for live in segments])
    if begin < len(segments):
        return begin, len(segments)
    for position, live in enumerate(segments):
        if live.n_alive < (1 - MAX_DEAD_SHARE) * live.segment.n_docs:
            return position, position + 1
    return None
