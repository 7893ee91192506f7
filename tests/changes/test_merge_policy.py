"""Segments stay few, and a document is rewritten O(log N) times, whatever happens in whatever order."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.changes.merge_policy import GROWTH, MAX_DEAD_SHARE, plan_merge


@dataclass(frozen=True)
class Sizes:
    """A live segment as far as a plan looks at it."""

    n_alive: int
    n_docs: int

    @property
    def segment(self):
        return SimpleNamespace(n_docs=self.n_docs)


class Ledger:
    """Counts what an index on disk would rewrite: ``rewritten`` documents for those ``added`` and ``deleted``.

    An add makes a segment in memory, and merges those in memory. A commit writes them as one, and merges all; so
    does a seal, which moves many documents from memory to the disk.
    """

    def __init__(self) -> None:
        self.segments: list[Sizes] = []
        self.n_disk = self.added = self.deleted = self.rewritten = 0

    def add(self, n: int) -> None:
        self.segments.append(Sizes(n, n))
        self.added += n
        self._merge_as_planned(self.n_disk)

    def delete(self, place: float, n: int) -> None:
        if self.segments:
            at = int(place * len(self.segments))
            live = self.segments[at]
            n = min(n, live.n_alive)
            self.deleted += n
            self.segments[at] = replace(live, n_alive=live.n_alive - n)
            if live.n_alive == n:
                del self.segments[at]
                self.n_disk -= at < self.n_disk

    def commit(self) -> None:
        if self.n_disk < len(self.segments):
            self._merge(self.n_disk, len(self.segments))
        self._merge_as_planned(0)
        self.n_disk = len(self.segments)

    def _merge_as_planned(self, begin: int) -> None:
        while plan := plan_merge(self.segments[begin:]):
            self._merge(begin + plan[0], begin + plan[1])

    def _merge(self, begin: int, end: int) -> None:
        assert 0 <= begin < end <= len(self.segments)
        total = sum(live.n_alive for live in self.segments[begin:end])
        self.rewritten += total
        self.segments[begin:end] = [Sizes(total, total)]

    def check(self) -> None:
        if self.added >= 2:
            limit = 2 * math.log2(self.added) * (self.added + self.deleted)
            assert self.rewritten <= limit, f"{self.rewritten} rewritten, {limit:.1f} allowed"


sizes = st.integers(1, 3) | st.integers(1, 5000) | st.sampled_from([1, 4, 16, 64, 256, 1024, 4096, 30_000])
steps = st.lists(
    st.tuples(st.just("add"), sizes)
    | st.tuples(st.just("delete"), st.floats(0, 0.999), sizes)
    | st.tuples(st.just("commit")),
    max_size=150,
)


def play(steps) -> Ledger:
    ledger = Ledger()
    for verb, *arguments in steps:
        getattr(ledger, verb)(*arguments)
        ledger.check()
    return ledger


@settings(max_examples=1000, deadline=None)
@given(steps)
def test_a_document_is_rewritten_at_most_twice_log_n_times_over_any_sequence(steps):
    ledger = play(steps)
    alive = sum(live.n_alive for live in ledger.segments)
    assert alive == ledger.added - ledger.deleted


def test_no_short_sequence_is_an_exception():
    """All sequences of five steps over the smallest sizes."""
    verbs = [
        ("add", 1),
        ("add", 2),
        ("add", 3),
        ("delete", 0.0, 1),
        ("delete", 0.9, 1),
        ("delete", 0.9, 2),
        ("commit",),
    ]
    for number in range(len(verbs) ** 5):
        play([verbs[number // len(verbs) ** place % len(verbs)] for place in range(5)])


def test_no_climb_from_bad_to_worse_finds_an_exception():
    """Sequences are changed at random, and kept when they rewrite more per document and log N."""
    rng = random.Random(0)

    def step():
        kind = rng.choice(["add", "add", "delete", "commit"])
        if kind == "add":
            return kind, rng.choice([1, 1, 2, 3, 10, 100, 1000, int(2 ** rng.uniform(0, 15))])
        return (kind, rng.random() * 0.999, int(2 ** rng.uniform(0, 13))) if kind == "delete" else (kind,)

    worst, best = 0.0, [step() for _ in range(40)]
    for _ in range(3000):
        steps = list(best)
        for _ in range(rng.randint(1, 3)):
            steps[rng.randrange(len(steps))] = step()
        ledger = play(steps)
        share = ledger.rewritten / (2 * math.log2(max(ledger.added, 2)) * max(ledger.added + ledger.deleted, 1))
        if share >= worst:
            worst, best = share, steps
    assert worst > 0.3  # the search did find sequences that rewrite much


@pytest.mark.parametrize("every", [1, 10])
def test_one_document_at_a_time_is_cheap(every):
    ledger = Ledger()
    ledger.add(30_000)
    for number in range(30_000):
        ledger.add(1)
        if number % every == 0:
            ledger.commit()
        assert len(ledger.segments) < 18
    assert ledger.rewritten / ledger.added < 6


@settings(max_examples=200, deadline=None)
@given(st.lists(sizes, max_size=120))
def test_a_growing_index_has_logarithmically_many_segments(additions):
    ledger = Ledger()
    for size in additions:
        ledger.add(size)
        # Every segment holds more than 1/GROWTH of what there is from it on.
        assert len(ledger.segments) <= 1 + math.log(ledger.added, GROWTH / (GROWTH - 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 300).flatmap(lambda n: st.builds(Sizes, st.integers(1, n), st.just(n))), max_size=40))
def test_mostly_dead_segments_are_rewritten_and_nothing_is_lost(segments):
    ledger = Ledger()
    ledger.segments = list(segments)
    ledger._merge_as_planned(0)
    assert sum(live.n_alive for live in ledger.segments) == sum(live.n_alive for live in segments)
    assert all(live.n_alive >= (1 - MAX_DEAD_SHARE) * live.n_docs for live in ledger.segments)


def test_small_segments_are_merged_without_a_larger_one_before_them():
    small, large = Sizes(3, 3), Sizes(30_000, 30_000)
    assert plan_merge([]) is None
    assert plan_merge([large, small, Sizes(2, 2)]) is None
    assert plan_merge([large, small, small]) == (1, 3)
    assert plan_merge([large, small, Sizes(2, 2), Sizes(1, 1)]) == (1, 4)
    assert plan_merge([Sizes(30_000, 30_000), *[Sizes(1, 1)] * 7]) != (0, 8)
    assert plan_merge([small, large]) == (0, 2)
    assert plan_merge([Sizes(30, 30), Sizes(4, 10), Sizes(5, 9)]) == (1, 2)
