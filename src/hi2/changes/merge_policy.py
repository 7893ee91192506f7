"""Which segments are merged? Neighbours of similar size, and segments with many deleted documents."""

from __future__ import annotations

from collections.abc import Sequence

from hi2.state.snapshot import LiveSegment

#: This many neighbours of one tier are merged into one segment, so an index of N documents has O(log N) segments.
MERGE_FACTOR = 8
#: A segment with a larger share of deleted documents is rewritten.
MAX_DEAD_SHARE = 0.5


def plan_merge(segments: Sequence[LiveSegment]) -> tuple[int, int] | None:
    """Return the next range [begin, end) of segments to merge, None if there is nothing to do."""
    tiers = [_tier(live.n_alive) for live in segments]
    for tier in sorted(set(tiers)):
        end = 0
        while end < len(tiers):
            begin = end
            while end < len(tiers) and tiers[end] <= tier:
                end += 1
            if end - begin >= MERGE_FACTOR:
                return begin, end
            end += 1
    for position, live in enumerate(segments):
        if live.n_alive < (1 - MAX_DEAD_SHARE) * live.segment.n_docs:
            return position, position + 1
    return None


def _tier(n_docs: int) -> int:
    tier = 0
    while n_docs >= MERGE_FACTOR:
        n_docs //= MERGE_FACTOR
        tier += 1
    return tier
