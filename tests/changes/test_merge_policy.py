"""Neighbouring segments are merged so that few are left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.changes.merge_policy import MAX_DEAD_SHARE, MERGE_FACTOR, plan_merge


@dataclass(frozen=True)
class Sizes:
    """A live segment as far as a plan looks at it."""

    n_alive: int
    n_docs: int

    @property
    def segment(self):
        return SimpleNamespace(n_docs=self.n_docs)


def merged_until_done(sizes):
    """Merge as planned until nothing is left to do."""
    segments = list(sizes)
    while plan := plan_merge(segments):
        begin, end = plan
        assert 0 <= begin < end <= len(segments)
        total = sum(live.n_alive for live in segments[begin:end])
        segments[begin:end] = [Sizes(total, total)]
    return segments


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 5000), max_size=120))
def test_a_growing_index_has_logarithmically_many_segments(additions):
    segments = []
    for size in additions:
        segments = merged_until_done([*segments, Sizes(size, size)])
        n_docs = sum(live.n_alive for live in segments)
        assert len(segments) <= MERGE_FACTOR * (math.log(n_docs, MERGE_FACTOR) + 1)
    assert sum(live.n_alive for live in segments) == sum(additions)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 300).flatmap(lambda n: st.builds(Sizes, st.integers(1, n), st.just(n))), max_size=40))
def test_mostly_dead_segments_are_rewritten_and_nothing_is_lost(segments):
    left = merged_until_done(segments)
    assert sum(live.n_alive for live in left) == sum(live.n_alive for live in segments)
    assert all(live.n_alive >= (1 - MAX_DEAD_SHARE) * live.n_docs for live in left)


def test_neighbours_of_one_tier_are_merged_without_larger_ones():
    small, large = Sizes(3, 3), Sizes(10_000, 10_000)
    assert plan_merge([]) is None
    assert plan_merge([large, *[small] * (MERGE_FACTOR - 2)]) is None
    assert plan_merge([large, *[small] * MERGE_FACTOR]) == (1, 1 + MERGE_FACTOR)
    assert plan_merge([*[small] * MERGE_FACTOR, large]) == (0, MERGE_FACTOR)
    assert plan_merge([small, Sizes(4, 10), Sizes(5, 10)]) == (1, 2)
