"""Which segments are merged? Small ones that larger ones have followed, and those with many deleted documents.

A segment is merged with all that came after it once these hold as many documents as it has. So every segment holds
more than half of the index from there on, and N documents are in at most log2 N segments, and one.

A document is rewritten O(log N) times, however documents arrive. Before the last segment came, fewer documents
followed the first than it has, and a merge is at least twice as large as it: log2 of the size of a document's segment
rises by one or more, and never exceeds log2 N.

As many, and not three times as many, because every segment costs a search some microseconds: grown by small additions
to 60,000 documents of hotpotqa, an index was searched in 1.19 times the time of a built one, 1.30 with three
times, and 1.15 with half as many, which rewrites half as much again (one run beside other work; 1.16 without it).
"""

from __future__ import annotations

from collections.abc import Sequence

from hi2.state.snapshot import LiveSegment

#: A merge holds at least this many times the documents of its first segment.
GROWTH = 2
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
