"""Neighbouring segments are merged so that few are left; a merged segment is that of its living documents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import filing
import hi2
from hi2.ingest.file import merge_live, segment_in_memory
from hi2.ingest.merge import MAX_DEAD_SHARE, MERGE_FACTOR, plan_merge
from hi2.state.snapshot import EMPTY


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


@pytest.fixture(scope="module", params=["everything", "bare"])
def filed(request, corpus):
    """A model, a snapshot of several segments with deleted documents, and how its documents are filed."""
    everything = request.param == "everything"
    if everything:
        model = filing.model_of(
            corpus, clusters=hi2.KMeans(9, copies=1), codec=hi2.PQ(4, residual=True), refine=hi2.Half()
        )
    else:
        model = filing.model_of(corpus, terms=None, clusters=None)

    def file(rows):
        more = {}
        if everything:
            more = {"texts": [corpus.texts[i] for i in rows], "keep_text": True, "payload": [{"n": i} for i in rows]}
        return filing.file(model, corpus.vectors[rows], ids=[corpus.ids[i] for i in rows], **more)

    snapshot = EMPTY
    for begin, end in ((0, 30), (30, 31), (31, 60)):
        snapshot = snapshot.plus(file(list(range(begin, end))))
    gone = set(range(0, 60, 7)) | {30}
    snapshot = snapshot.without(snapshot.find([corpus.ids[i] for i in sorted(gone)]))
    return model, snapshot, file([i for i in range(60) if i not in gone])


def test_a_merge_equals_one_segment_of_the_living_documents(filed):
    """The segment whose only document was deleted is gone; the others keep their order."""
    model, snapshot, expected = filed
    assert len(snapshot.segments) == 2
    merged = segment_in_memory(model, merge_live(model, snapshot.segments))
    assert merged.meta == expected.meta
    assert set(merged.arrays) == set(expected.arrays)
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(merged.arrays[name], array)


def test_documents_without_stored_text_are_merged_with_those_that_have_it(corpus):
    model = filing.model_of(corpus, terms=None)
    bare = filing.file(model, corpus.vectors[:2], ids=["a", "b"])
    full = filing.file(model, corpus.vectors[2:4], ids=["c", "d"], payload=[{"x": 1}, {"x": 2}])
    merged = segment_in_memory(model, merge_live(model, EMPTY.plus(bare).plus(full).segments))
    assert merged.id_column().as_list() == ["a", "b", "c", "d"]
    assert [merged.stored(row) for row in range(4)] == [{}, {}, {"payload": {"x": 1}}, {"payload": {"x": 2}}]
    assert merged.columns.by_name["x"].known()[np.argsort(merged.rows)].tolist() == [False, False, True, True]


def test_what_was_pruned_is_added_up(corpus):
    model = filing.model_of(corpus, terms=hi2.BM25(per_doc=5, gamma=0.9))
    segments = [filing.file(model, corpus.vectors[a:b], corpus.texts[a:b], first_id=a) for a, b in ((0, 50), (50, 99))]
    snapshot = EMPTY.plus(segments[0]).plus(segments[1])
    merged = segment_in_memory(model, merge_live(model, snapshot.segments)).meta
    assert merged.pruned_lists == sum(one.meta.pruned_lists for one in segments) > 0
    assert merged.pruned_postings == sum(one.meta.pruned_postings for one in segments) > 0
