"""What lists promise is learned from queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2.changes.open_index import OpenIndex
from hi2.tuning.list_weights import Examples, collect_examples, fit_benefit


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, clusters=hi2.KMeans(40), codec=hi2.Flat(), progress=False
    )


def test_learning_recovers_the_chances_that_generated_the_data(corpus, index):
    """Documents of near clusters are drawn as the best with a known chance. Learning must recover that chance."""
    model, snapshot = index.model, index._index.state.snapshot
    segment = snapshot.segments[0].segment
    random = np.random.default_rng(0)
    vectors = np.repeat(corpus.query_vectors, 4, axis=0)
    terms = [model.terms.query_terms([text], 32)[1] for text in corpus.query_texts for _ in range(4)]
    labels, best = segment.labels(), []
    for vector in vectors:
        order = np.argsort(-(model.clusters.centroids @ vector))
        rank = np.empty(len(order))
        rank[order] = np.log1p(np.arange(len(order)))
        chance = 1 / (1 + np.exp(1.0 + 1.2 * rank[labels]))
        docs = np.flatnonzero(random.random(len(labels)) < chance)
        best.append({(0, int(segment.rows[doc])) for doc in docs})
    fitted = fit_benefit(collect_examples(model, snapshot, vectors, terms, best))
    near = fitted.base
    far = fitted.base + fitted.rank * 2.0 + fitted.rank2 * 4.0 + fitted.gap * 1.2
    assert near == pytest.approx(-1.0, abs=0.7)
    assert far == pytest.approx(-3.4, abs=0.9)
    assert fitted == fit_benefit(collect_examples(model, snapshot, vectors, terms, best))


def test_examples_stand_for_every_living_candidate(corpus, index):
    """The best stand for themselves; those that were drawn stand for the others."""
    model = index.model
    changed = hi2.HybridIndex(OpenIndex(index._index.state))
    changed.delete(corpus.ids[::3])
    snapshot = changed._index.state.snapshot
    segment = snapshot.segments[0].segment
    alive = np.flatnonzero(snapshot.segments[0].flags())
    best = {(0, int(segment.rows[doc])) for doc in alive[:4]} | {(0, 0)}  # row 0 is deleted
    terms = model.terms.query_terms(corpus.query_texts[:1], 32)[1]
    (examples,) = collect_examples(model, snapshot, corpus.query_vectors[:1], [terms], [best])
    assert examples.features.shape == (len(alive), 7)
    assert examples.hits.sum() == 4
    assert examples.weights.sum() == pytest.approx(len(alive))
    shares_a_term, rarity = examples.features[:, 4], examples.features[:, 5]
    assert ((rarity > 0) == (shares_a_term == 1)).all()
    assert 0 < shares_a_term.sum() < len(alive)


@settings(max_examples=20, deadline=None)
@given(slope=st.floats(-3, 3), seed=st.integers(0, 100))
def test_a_rarer_term_never_promises_less(slope, seed):
    """Whatever the examples say: rarity and its product with the rank get no negative weight."""
    random = np.random.default_rng(seed)
    rank, rarity = random.random(400) * 3, random.random(400) * 5
    ones = np.ones(400)
    features = np.stack([ones, rank, rank**2, rank, ones * (rarity > 1), rarity, rarity * rank], axis=1)
    hits = random.random(400) < 1 / (1 + np.exp(1 + rank - slope * rarity))
    if hits.any():
        fitted = fit_benefit([Examples(features, hits, ones)])
        assert fitted.idf >= 0
        assert fitted.idf_rank >= 0
        assert np.isfinite(fitted.array).all()
