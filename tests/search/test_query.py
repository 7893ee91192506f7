"""Vectors and texts are checked, and texts open terms."""

from __future__ import annotations

import pytest

import hi2


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)


def test_without_text_only_clusters_are_opened(corpus, index):
    no_text = index.search(corpus.query_vectors, k=10, clusters=3)
    no_terms = index.search(corpus.query_vectors, corpus.query_texts, k=10, clusters=3, terms=0)
    assert (no_text.n_scored == no_terms.n_scored).all()
    assert (index.search(corpus.query_vectors, clusters=0).n_scored == 0).all()


def test_a_batch_may_mix_queries_with_and_without_text(corpus, index):
    texts = [None if i % 2 else text for i, text in enumerate(corpus.query_texts)]
    mixed = index.search(corpus.query_vectors, texts, clusters=0)
    assert (mixed.n_scored[1::2] == 0).all()
    assert (mixed.n_scored[::2] > 0).any()
