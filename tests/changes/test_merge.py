"""A merge changes no answer."""

from __future__ import annotations

import pytest

import hi2
from hi2.changes.merge import merge_range
from hi2.progress import Progress


def test_a_merge_keeps_the_refine_codes(corpus):
    parts = {"codec": hi2.PQ(5), "refine": hi2.Flat(), "clusters": hi2.KMeans(20)}
    index = hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200], ids=corpus.ids[:200], **parts)
    index.add(corpus.vectors[200:300], corpus.texts[200:300], ids=corpus.ids[200:300])
    index.delete(corpus.ids[50:60])
    before = index.search(corpus.query_vectors, corpus.query_texts, k=20)
    index.merge()
    after = index.search(corpus.query_vectors, corpus.query_texts, k=20)
    assert (before.ids == after.ids).all()
    assert (before.scores == after.scores).all()
    position = {id: i for i, id in enumerate(corpus.ids)}
    exact = corpus.vectors[position[after.ids[0, 0]]] @ corpus.query_vectors[0]
    assert after.scores[0, 0] == pytest.approx(exact, abs=1e-5)


def test_a_merge_drops_the_deleted_and_keeps_the_order(small, corpus):
    small.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
    small.delete(corpus.ids[5:65])
    small.merge()
    assert small.ids() == [*corpus.ids[:5], *corpus.ids[65:70]]
    assert (small.info()["n_segments"], small.info()["n_deleted"]) == (1, 0)
    small.verify()


def test_a_merge_of_one_whole_segment_does_nothing(small):
    before = small._index.state
    small.merge()
    assert small._index.state is before


def test_a_merge_of_nothing_but_deleted_documents_leaves_no_segment(small):
    small.delete(small.ids())
    small.merge()
    assert small.info()["n_segments"] == 0


def test_some_segments_are_merged_and_the_others_stay(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:40], corpus.texts[:40])
    for begin in (40, 60):
        index.add(corpus.vectors[begin : begin + 20], corpus.texts[begin : begin + 20])
    state = index._index.state
    n = len(state.snapshot.segments)
    merged = merge_range(state, 1, n, None, Progress(False))
    assert n > 1
    assert merged.snapshot.segments[0] is state.snapshot.segments[0]
    assert len(merged.snapshot.segments) == 2
    assert merged.snapshot.ids() == state.snapshot.ids()
