"""Settings are tried through anything that can be searched, and cost what the index says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.state.benefit import DEFAULT_BENEFIT
from hi2.tuning.trials import (
    STANDARD_ERRORS,
    Configured,
    Outcome,
    Sample,
    Tried,
    join_outcomes,
    promising,
    settings_to_try,
    summarise,
    try_searcher,
)


class BruteForce:
    """A hand-written searcher: numpy scores every document, and texts are ignored."""

    def __init__(self, vectors, ids):
        self.vectors, self.ids = vectors, np.array(ids, object)

    def search(self, vectors, texts=None, *, k=10):
        scores = vectors @ self.vectors.T
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        n = len(vectors)
        found = np.take_along_axis(scores, rows, axis=1)
        return hi2.Hits(self.ids[rows], found, np.full(n, len(self.ids)), np.full(n, rows.shape[1]))


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, clusters=hi2.KMeans(20))


@pytest.fixture(scope="module")
def sample(corpus):
    """Every query wants its ten nearest documents."""
    nearest = np.argsort(-(corpus.query_vectors @ corpus.vectors.T), axis=1, kind="stable")[:, :10]
    return Sample(corpus.query_vectors, corpus.query_texts, [{corpus.ids[row] for row in own} for own in nearest])


def test_a_hand_written_searcher_is_tried_like_an_index(corpus, sample):
    outcome = try_searcher(BruteForce(corpus.vectors, corpus.ids), sample, 10)
    assert (outcome.found == 1).all()
    assert (outcome.scored == len(corpus.ids)).all()
    assert outcome.seconds > 0
    fewer = try_searcher(BruteForce(corpus.vectors, corpus.ids), sample, 5)
    assert (fewer.found == 0.5).all()


@pytest.mark.parametrize(
    "arguments", [{"terms": 2}, {"clusters": 3, "per_doc": 4}, {"adaptive": 0.05}, {"clusters": 0, "terms": 2}]
)
def test_a_setting_finds_and_scores_what_the_index_does_with_it(corpus, index, sample, arguments):
    offsets, *_ = index.model.terms.query_terms(corpus.query_texts, 32)
    assert np.diff(offsets).min() > 2  # so that terms=2 leaves some out
    configured = Configured(index._index.state, arguments, DEFAULT_BENEFIT)
    found = configured.search(corpus.query_vectors, corpus.query_texts, k=10)
    expected = index.search(corpus.query_vectors, corpus.query_texts, k=10, **arguments)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.n_scored, expected.n_scored)
    outcome = try_searcher(configured, sample, 10)
    shares = [len(own & set(row)) / 10 for own, row in zip(sample.wanted, expected.ids.tolist(), strict=True)]
    assert outcome.found.tolist() == shares
    assert outcome.scored.tolist() == expected.n_scored.tolist()


def test_fewer_terms_score_fewer_documents(corpus, index):
    configured = [Configured(index._index.state, {"terms": n}, DEFAULT_BENEFIT) for n in (2, 32)]
    few, many = (own.search(corpus.query_vectors, corpus.query_texts, k=10).n_scored for own in configured)
    assert (few <= many).all()
    assert few.sum() < many.sum()


def test_some_queries_of_a_sample_keep_their_texts_and_what_they_want(sample):
    taken = sample.take([4, 0])
    np.testing.assert_array_equal(taken.vectors, sample.vectors[[4, 0]])
    assert taken.texts == [sample.texts[4], sample.texts[0]]
    assert taken.wanted == [sample.wanted[4], sample.wanted[0]]
    assert dataclasses.replace(sample, texts=None).take([1]).texts is None


def test_a_summary_holds_means_over_the_queries_that_want_something():
    outcomes = [
        Outcome(np.array([0.5, 0.25]), np.array([10.0, 20.0]), 1e-3),
        Outcome(np.array([0.0]), np.array([30.0]), 2e-3),
    ]
    outcome = join_outcomes(outcomes, [[0, 2], [1]])
    assert outcome.found.tolist() == [0.5, 0.0, 0.25]
    assert outcome.scored.tolist() == [10.0, 30.0, 20.0]
    known = np.array([True, False, True])
    tried = summarise({"clusters": 3}, outcome, known, rescored=5, whole=0.5)
    assert tried.recall == pytest.approx((1.0 + 0.5) / 2)
    assert tried.error == pytest.approx(np.std([1.0, 0.5], ddof=1) / np.sqrt(2))
    assert tried.assured == pytest.approx(tried.recall - STANDARD_ERRORS * tried.error)
    assert (tried.documents, tried.cost) == (20.0, 25.0)
    assert tried.microseconds == pytest.approx(1000)
    assert summarise({}, outcome, known, rescored=100, whole=1.0).cost == 40.0  # no more than are scored


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.1), st.integers(1, 100)), min_size=1, max_size=12))
def test_no_setting_that_may_be_the_best_at_its_cost_is_dropped(numbers):
    tried = [Tried({"place": i}, recall, error, n, n, n) for i, (recall, error, n) in enumerate(numbers)]
    kept = [own["place"] for own in promising(tried, lambda own: own.cost)]
    for own in tried:
        cheaper = [other.recall for other in tried if other.cost < own.cost]
        if all(recall <= own.recall + own.error for recall in cheaper) and (
            own.recall == max(other.recall for other in tried if other.cost == own.cost)
        ):
            assert own.arguments["place"] in kept
    assert max(own.recall for own in tried) == max(tried[place].recall for place in kept)


def test_settings_to_try_range_from_little_to_everything(corpus, index):
    model = index.model
    settings = settings_to_try(model, with_terms=True, lexical=0.0)
    assert len({repr(own) for own in settings}) == len(settings)
    assert {"clusters": model.n_clusters, "per_doc": model.per_doc, "lexical": 0.0} in settings
    assert {"clusters": 0, "per_doc": model.per_doc // 4, "lexical": 0.0} in settings
    assert {"clusters": 0, "per_doc": 0, "lexical": 0.0} not in settings  # it would open nothing
    alone = settings_to_try(model, with_terms=False, lexical=0.0)
    assert all(own.get("per_doc", 0) == 0 and "terms" not in own for own in alone)
    refined = dataclasses.replace(model, refine=hi2.Flat().fit(corpus.vectors, threads=1))
    assert len(settings_to_try(refined, with_terms=True, lexical=0.0)) == 4 * len(settings)
    assert {own["refine"] for own in settings_to_try(refined, with_terms=False, lexical=0.0)} == {1, 4, 16, 64}
    by_words = settings_to_try(refined, with_terms=True, lexical=0.3)
    assert [{**own, "lexical": 0.0} for own in by_words] == settings
    assert {own["lexical"] for own in by_words} == {0.3}


def test_the_depth_of_refinement_changes_nothing_where_words_count(corpus):
    index = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, clusters=hi2.KMeans(20), codec=hi2.RaBitQ(), refine=hi2.Flat(), progress=False
    )
    one, other = (index.search(corpus.query_vectors, corpus.query_texts, k=10, refine=n) for n in (1, 64))
    np.testing.assert_array_equal(one.ids, other.ids)
    one, other = (index.search(corpus.query_vectors, k=10, refine=n) for n in (1, 64))
    assert (one.ids != other.ids).any()
