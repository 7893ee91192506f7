"""The stages of a search fit together: profiles, filters, adaptive search and explanations."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hi2
from hi2.changes.open_index import OpenIndex
from hi2.errors import InvalidParameter
from hi2.state.profile import Profile


def with_profile(index, **arguments):
    state = index._index.state
    profile = Profile(**arguments, model=state.model.fingerprint)
    return hi2.HybridIndex(OpenIndex(dataclasses.replace(state, profiles={"mine": profile})))


def test_adaptive_and_budget_reject_bad_values_and_filters(documents, index):
    filtered = {"filter": [3]}
    for given in ({"adaptive": -0.1}, {"adaptive": "all"}, {"adaptive": 0.1, **filtered}, {"budget": 3, **filtered}):
        with pytest.raises(hi2.InvalidParameter, match=r"'(adaptive|budget)'"):
            index.search(documents[0][0], **given)


def test_hits_can_be_explained(documents, index):
    vectors, texts, _ = documents
    hits = index.search(vectors[9], texts[9], k=5)
    why = hits.explain(1)
    assert why.id == hits.ids[1]
    assert why.rank == 2
    assert str(why) == str(index.explain(vectors[9], texts[9], id=int(hits.ids[1]), k=5))
    assert [own.rank for own in hits.explain()] == [1, 2, 3, 4, 5]
    batch = index.search(vectors[:4], texts[:4], k=5)
    assert batch[3].explain(0).id == batch.ids[3, 0]
    with pytest.raises(InvalidParameter, match="hits of one query"):
        batch.explain()
    with pytest.raises(InvalidParameter, match="one of 5 hits"):
        hits.explain(5)


def test_a_profile_gives_the_arguments_of_a_search(documents, index):
    vectors, texts, _ = documents
    tuned = with_profile(index, clusters=2, per_doc=1)
    expected = index.search(vectors[:9], texts[:9], clusters=2, per_doc=1)
    found = tuned.search(vectors[:9], texts[:9], profile="mine")
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.n_scored, expected.n_scored)
    wider = tuned.search(vectors[:9], texts[:9], profile="mine", clusters=5)
    np.testing.assert_array_equal(wider.n_scored, index.search(vectors[:9], texts[:9], clusters=5, per_doc=1).n_scored)


def test_a_filter_takes_an_adaptive_profile(documents, index, monkeypatch):
    """Its lists are opened whole, because what a filter opens is counted in clusters."""
    monkeypatch.setattr("hi2.search.execute.MAX_EXHAUSTIVE", 10)  # otherwise every document that passes is scored
    vectors, texts, _ = documents
    tuned = with_profile(index, adaptive=0.2)
    found = tuned.search(vectors[4], texts[4], k=2, profile="mine", filter="year = 2001")
    expected = index.search(vectors[4], texts[4], k=2, filter="year = 2001")
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.n_scored == expected.n_scored
    assert not found.complete


def test_each_query_of_a_batch_is_explained_with_its_own_filter(documents, index):
    vectors, texts, payload = documents
    hits = index.search(vectors[:2], texts[:2], k=3, filters=["year = 2001", None])
    assert all(payload[id]["year"] == 2001 for id in hits.ids[0])
    assert [why.id for why in hits[0].explain()] == hits.ids[0].tolist()
    assert [why.filtered for why in (hits[0].explain(0), hits[1].explain(0))] == [True, False]


def test_hits_explain_the_index_as_it_was_when_they_were_found(documents):
    vectors, texts, _ = documents
    index = hi2.HybridIndex.build(vectors[:50], texts[:50])
    hits = index.search(vectors[0], texts[0], k=3)
    index.delete(int(hits.ids[0]))
    assert hits.explain(0).outcome == "found"
    assert index.explain(vectors[0], texts[0], id=int(hits.ids[0])).outcome == "not in the index"


def test_searches_that_skip_terms_are_not_counted(documents, index):
    vectors, texts, _ = documents
    copy = hi2.HybridIndex(OpenIndex(index._index.state))
    copy.search(vectors[0], texts[0], terms=0)
    copy.search(vectors[0], texts[0], per_doc=0)
    assert copy.info()["searches"]["with_text"] == 0
    copy.search(vectors[0], texts[0])
    assert copy.info()["searches"]["with_text"] == 1


def test_a_weight_of_words_without_text_is_refused(documents, index):
    vectors, texts, _ = documents
    for given in (vectors[0], vectors[:3]):
        with pytest.raises(InvalidParameter, match=r"'lexical'.*0 for a query without text.*0\.5"):
            index.search(given, lexical=0.5)
        assert index.search(given).lexical is None
        assert index.search(given, lexical=0).lexical is None
    assert index.search(vectors[:2], [texts[0], None], lexical=0.5).lexical[0].any()


def test_text_alone_is_ranked_by_words_whatever_they_weigh_beside_vectors(documents, index):
    _, texts, _ = documents
    with pytest.raises(InvalidParameter, match=r"'lexical'.*left out for text alone"):
        index.search(None, texts[0], lexical=0)
    expected = index.search(None, texts[0])
    assert index.search(None, texts[0], lexical=3).scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "0.2", True])
def test_a_bad_weight_is_refused_on_every_road(documents, index, bad):
    vectors, texts, _ = documents
    for call in (
        lambda: index.search(vectors[0], texts[0], lexical=bad),
        lambda: index.search(vectors[:2], texts[:2], lexical=bad),
        lambda: index.search(vectors[0], lexical=bad),
        lambda: index.search(None, texts[0], lexical=bad),
        lambda: index.search(vectors[0], texts[0], lexical=bad, filter=[3], offset=2),
        lambda: index.explain(vectors[0], texts[0], id=0, lexical=bad),
    ):
        with pytest.raises(InvalidParameter, match="'lexical'"):
            call()
