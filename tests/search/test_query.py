"""Vectors and texts are checked, and texts open terms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hi2
from hi2.errors import InvalidParameter
from hi2.search.effort import resolve_effort
from hi2.search.query import encode_texts, read_queries, read_query, with_terms


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


def test_queries_are_taken_with_their_terms(corpus, index):
    queries = with_terms(index.model, corpus.vectors[:4], corpus.texts[:4], resolve_effort(index.model, k=1), 1)
    terms = [set(queries.terms[a:b].tolist()) for a, b in itertools.pairwise(queries.offsets.tolist())]
    taken = queries.take([3, 1])
    assert len(taken) == 2
    np.testing.assert_array_equal(taken.vectors, corpus.vectors[[3, 1]])
    assert [set(taken.terms[a:b].tolist()) for a, b in itertools.pairwise(taken.offsets.tolist())] == [
        terms[3],
        terms[1],
    ]


@pytest.mark.parametrize("given", [{"terms": 0}, {"per_doc": 0}])
def test_an_effort_without_terms_opens_none(corpus, index, given):
    effort = resolve_effort(index.model, k=1, **given)
    queries = with_terms(index.model, corpus.vectors[:4], corpus.texts[:4], effort, 1)
    assert len(queries.terms) == 0
    assert queries.offsets.tolist() == [0] * 5


def test_text_alone_is_encoded(corpus, index):
    model = index.model

    def encoder(texts):
        return np.array([[len(text)] * 40 for text in texts], np.float32)

    vector, text = encode_texts("four", None, lambda: encoder, model)
    assert (vector.shape, vector[0], text) == ((40,), 4.0, "four")
    vectors, texts = encode_texts(["a", "bcd"], None, lambda: encoder, model)
    assert (vectors.shape, vectors[:, 0].tolist(), texts) == ((2, 40), [1.0, 3.0], ["a", "bcd"])
    given = np.ones(40)
    assert encode_texts(given, "text", lambda: pytest.fail("not needed"), model) == (given, "text")
    for said, bad in [
        ("given too", ("text", "more", lambda: encoder)),
        ("dimension 7", ("text", None, lambda: lambda texts: np.ones((len(texts), 7)))),
    ]:
        with pytest.raises(InvalidParameter, match=said):
            encode_texts(*bad, model)


def test_text_that_nothing_encodes_is_ranked_by_its_words_where_there_are_bags(corpus, index):
    assert encode_texts("text", None, lambda: None, index.model) == (None, "text")
    assert encode_texts(["one", "two"], None, lambda: None, index.model) == (None, ["one", "two"])
    assert encode_texts(None, "text", lambda: pytest.fail("not needed"), index.model) == (None, "text")
    bare = hi2.HybridIndex.build(corpus.vectors[:9], corpus.texts[:9], bags=False)
    with pytest.raises(InvalidParameter, match=r"no encoder.*refit\(\)"):
        encode_texts("text", None, lambda: None, bare.model)


def test_one_query_and_a_batch_are_told_apart(corpus, index):
    vectors, texts, single = read_queries(corpus.vectors[0].astype(np.float64), "one", index.model)
    assert (vectors.shape, vectors.dtype, texts, single) == ((1, 40), np.float32, ["one"], True)
    vectors, texts, single = read_queries(corpus.vectors[:2].tolist(), ("one", None), index.model)
    assert (vectors.shape, texts, single) == ((2, 40), ["one", None], False)
    for said, bad in [
        ("one string for one vector", (corpus.vectors[0], ["one"])),
        ("a single string for a batch", (corpus.vectors[:2], "one")),
        (r"one string per query \(2\)", (corpus.vectors[:2], ["one"])),
        ("a int in row 1", (corpus.vectors[:2], ["one", 2])),
        ("'vectors'", (corpus.vectors[:2, :5], None)),
    ]:
        with pytest.raises(InvalidParameter, match=said):
            read_queries(*bad, index.model)


def test_a_query_is_normalised_where_the_metric_is_cosine(corpus, index):
    cosine = hi2.HybridIndex.build(corpus.vectors[:20], corpus.texts[:20], metric="cosine")
    assert np.linalg.norm(read_query(3 * corpus.vectors[0], cosine.model)) == pytest.approx(1.0)
    assert np.linalg.norm(read_query(3 * corpus.vectors[0], index.model)) == pytest.approx(3.0)
