"""A merge changes no answer."""

from __future__ import annotations

import pytest

import hi2


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
