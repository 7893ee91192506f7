"""Which segments are merged? Small ones that larger ones have followed, and those with many deleted documents.

A segment is merged with all that came after it once these hold as many documents as it has; half as many if it is
large. So every segment holds more than half of the index from there on, and N documents are in at most log2 N segments,
and one.

A document is rewritten O(log N) times, however documents arrive. Before the last segment came, fewer documents followed
the first than it has, and a merge is at least twice, or one and a half times, as large as it: the logarithm of the size
of a document's segment to the base 1.5 rises by one or more, and never exceeds log1.5 N, 1.71 log2 N.

Half as many for large ones, because every segment costs a search some microseconds. Grown to 60,000 documents of
hotpotqa by additions of 1 to 1,000 in six random orders, an index had 2 to 4 segments and was searched in 1.01 to 1.15
times the time of a built one (medians of three). Merged once as many documents had followed, it had 3 to 5 and took
1.09 to 1.23 times.
"""

from __future__ import annotations

from collections.abc import Sequence

from hi2.state.snapshot import LiveSegment

#: A merge holds at least this many times the documents of its first segment, and of one that is large.
GROWTH, GROWTH_OF_LARGE = 2, 1.5
LARGE = 4096
#: A segment with a larger share of deleted documents is rewritten.
MAX_DEAD_SHARE = 0.5


def first_merged(sizes: Sequence[int]) -> int:
    """Return the first of some segments, by their documents, that is merged with all after it; their number if none."""
    begin, later = len(sizes), 0
    for position in reversed(range(len(sizes))):
        growth = GROWTH if sizes[position] < LARGE else GROWTH_OF_LARGE
        if later >= (growth - 1) * max(sizes[position], 1):
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
