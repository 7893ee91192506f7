"""What lists promise is learned from queries."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.tuning.list_weights import collect_examples, fit_benefit


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
