"""Documents without a vector are found by their words alone, wherever they are, and by nothing else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hi2
import oracle
from hi2.search.effort import DEFAULT_LEXICAL

N = 300
WITHOUT = set(range(2, N, 4))
CODECS = [hi2.Flat(), hi2.SQ8(), hi2.PQ(4), hi2.OPQ(4, residual=True), hi2.RaBitQ()]
EVERYTHING = {"k": N, "clusters": 10**6}


def given(vectors, begin=0, end=N):
    """Vectors of documents, None for those that come without."""
    return [None if row in WITHOUT else vectors[row] for row in range(begin, end)]


@pytest.fixture(scope="module")
def parts(corpus):
    """Parts that were fitted to all documents."""
    index = hi2.HybridIndex.build(
        given(corpus.vectors), corpus.texts[:N], terms=hi2.BM25(tokenizer="words"), codec=hi2.Flat()
    )
    return {"clusters": index.model.clusters, "terms": index.model.terms, "codec": index.model.codec}


def build(corpus, begin=0, end=N, **changes):
    texts = corpus.texts[begin:end]
    return hi2.HybridIndex.build(given(corpus.vectors, begin, end), texts, ids=range(begin, end), **changes)


def whole(corpus, parts, tmp_path):
    return build(corpus, **parts), set()


def grown(corpus, parts, tmp_path):
    index = build(corpus, 0, 200, **parts)
    for begin, end in ((200, 270), (270, 290), (290, 297), (297, N)):
        index.add(given(corpus.vectors, begin, end), corpus.texts[begin:end], ids=range(begin, end))
    assert index.info()["n_segments"] > 2
    return index, set()


def changed(corpus, parts, tmp_path):
    """Documents are deleted, others change their payload, one loses its vector and one gets one."""
    index, _ = grown(corpus, parts, tmp_path)
    gone = set(range(3, N, 7))
    index.delete(sorted(gone))
    index.update([5, 6], payload=[{"a": 1}, {"a": 2}])
    for row in (8, 14):
        index.upsert([np.ones(corpus.vectors.shape[1])], ["other words"], ids=[row])
        index.upsert([None if row in WITHOUT else corpus.vectors[row]], [corpus.texts[row]], ids=[row])
    return index, gone


def merged(corpus, parts, tmp_path):
    index, gone = changed(corpus, parts, tmp_path)
    index.merge()
    assert index.info()["n_segments"] == 1
    return index, gone


def mapped(corpus, parts, tmp_path):
    index, gone = changed(corpus, parts, tmp_path)
    index.save(tmp_path / "a")
    return hi2.HybridIndex.open(tmp_path / "a"), gone


@pytest.mark.parametrize("road", [whole, grown, changed, merged, mapped], ids=lambda road: road.__name__)
def test_scores_equal_the_oracles(corpus, parts, road, tmp_path):
    index, gone = road(corpus, parts, tmp_path)
    index.verify()
    alive = [row for row in range(N) if row not in gone]
    assert index.info()["n_without_vector"] == len(WITHOUT - gone)
    own = [row for row in range(N) if row not in WITHOUT]
    tokens = index.model.terms.tokenizer.tokens
    documents = [tokens(text) for text in corpus.texts[:N]]
    words, spread = oracle.Words.fitted(documents), oracle.spread(corpus.vectors[own])
    middle = corpus.vectors[own].mean(axis=0)
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        asked = tokens(text)
        dense = corpus.vectors[:N] @ vector
        dense[sorted(WITHOUT)] = middle @ vector
        lexical = np.array([words.score(asked, document) for document in documents])
        clusters = index.model.clusters
        doubt = oracle.doubt(vector, clusters.centroids, clusters.anchors, corpus.vectors[own])
        weight = oracle.word_weight(vector, doubt, words.specificity(asked))
        scores = oracle.combined(dense, lexical, weight=DEFAULT_LEXICAL, spread=spread, word_weight=weight)
        hits = index.search(vector, text, **EVERYTHING)
        found = hits.ids.tolist()
        np.testing.assert_allclose(hits.scores, scores[found], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(hits.dense, dense[found], rtol=1e-4, atol=1e-5)
        by_words = {row for row in found if row in WITHOUT}
        assert set(found) - WITHOUT == set(alive) - WITHOUT
        assert by_words == {row for row in WITHOUT - gone if lexical[row] > 0}
        assert index.search(vector, text, **EVERYTHING, filter=alive).ids.tolist() == found


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_vectors_alone_find_no_document_without_one(corpus, codec):
    index = build(corpus, codec=codec)
    vector, text = corpus.query_vectors[0], corpus.texts[2]
    for hits in (
        index.search(vector, k=N),
        index.search(vector, text, k=N, lexical=0),
        index.search(vector, k=N, clusters=3),
        index.search(vector, k=N, filter=list(range(N))),
        index.search(vector, text, k=N, lexical=0, adaptive=0.0),
        index.search(vector, text, k=N, lexical=0, budget=N),
        index.search(np.zeros_like(vector), text, k=N),
        index.search(corpus.query_vectors[:2], [None, ""], k=N),
    ):
        rows = hits.ids[hits.ids >= 0].tolist()
        assert rows
        assert not WITHOUT & set(rows)
    assert len(index.search(vector, k=N)) == N - len(WITHOUT)
    assert index.search(None, text, k=1).ids.tolist() == [2]
    for effort in ({}, {"budget": 60}, {"adaptive": 0.0}, {"clusters": 0}, {"per_doc": 3}, {"filter": [2, 3]}):
        assert 2 in index.search(vector, text, k=20, lexical=5, **effort).ids.tolist(), effort
    for effort in ({"budget": 10}, {"budget": 1, "k": 1}):
        assert index.search(vector, text, **effort).n_scored <= effort["budget"]


def test_an_index_without_any_vector_is_searched_by_words(corpus, tmp_path):
    index = hi2.HybridIndex.create(dim=corpus.vectors.shape[1], path=tmp_path / "a")
    index.add(texts=corpus.texts[:20])
    index.add([None] * 280, corpus.texts[20:N])  # large enough to be fitted
    index.commit()
    assert index.info()["n_without_vector"] == N
    index.verify()
    for reader in (index, hi2.HybridIndex.open(tmp_path / "a")):
        assert len(reader.search(corpus.vectors[0], k=5)) == 0
        assert reader.search(corpus.vectors[0], corpus.texts[9], k=5).ids[0] == 9
        assert reader.search(None, corpus.texts[9], k=5).ids[0] == 9
    index.refit()
    assert index.search(corpus.vectors[0], corpus.texts[9], k=5).ids[0] == 9
    index.add(corpus.vectors[N : 2 * N], corpus.texts[N : 2 * N])
    assert index.search(corpus.vectors[N], k=1).ids.tolist() == [N]
    assert index.model.n_clusters > 1
    index.verify()


def test_a_refit_keeps_who_has_a_vector(corpus):
    index = build(corpus, codec=hi2.SQ8())
    index.add(given(corpus.vectors, 0, 100), corpus.texts[:100], ids=range(1000, 1100))
    for refitted in (index.refit(), index.refit(terms=hi2.BM25(per_doc=9))):
        assert refitted.info()["n_without_vector"] == len(WITHOUT) + 25
        refitted.verify()
        assert 2 in refitted.search(corpus.query_vectors[0], corpus.texts[2], k=9, lexical=5).ids.tolist()
    with pytest.raises(hi2.InvalidParameter, match=r"'bags'.*without a vector"):
        index.refit(terms=hi2.BM25(), bags=False)
    assert (index.health()["quantisation"], index.health()["documents"]) == (None, 400)


def test_stored_vectors_are_given_back_where_there_are_some(corpus):
    index = build(corpus, codec=hi2.Flat())
    found = index.vectors([1, 2, 3])
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], corpus.vectors[[1, 3]])
    assert np.isnan(index.vectors(2)).all()


def test_the_explanation_names_what_is_missing(corpus):
    index = build(corpus)
    vector = corpus.query_vectors[0]
    why = index.explain(vector, corpus.texts[2], id=2, lexical=5)
    assert (why.outcome, why.no_vector, why.clusters, why.codec_score) == ("found", True, (), None)
    assert why.score == pytest.approx(why.dense + why.weight * why.lexical)
    assert "the mean document's" in str(why)
    hits = index.search(vector, corpus.texts[2], lexical=5)
    assert why.score == pytest.approx(float(hits.scores[hits.ids.tolist().index(2)]), rel=1e-5)
    for given in ({"text": None}, {"text": corpus.texts[2], "lexical": 0}):
        why = index.explain(vector, id=2, **given)
        assert (why.outcome, why.score) == ("no shared list", None)
        assert "2 was not scored: it has no vector, and this query does not rank by words." in str(why)
    assert "no_vector" in why.to_dict()
    assert pickle.loads(pickle.dumps(why)) == why


def test_tuning_and_reports_leave_them_aside(corpus):
    index = build(corpus)
    tuned = index.tune(corpus.query_vectors, corpus.query_texts, target=0.9, name="mine", k=5)
    assert tuned is not None
    assert not WITHOUT & set(index.search(corpus.query_vectors[0], k=50, profile="mine").ids.tolist())
    assert index.info()["n_without_vector"] == len(WITHOUT)
    index.add(given(corpus.vectors, 0, 60), corpus.texts[:60], ids=range(900, 960))
    assert index.health()["drift"]["added"] == 60


@pytest.mark.parametrize(
    ("vectors", "options", "said"),
    [
        ([None, None], {}, "'vectors'.*None for all of them"),
        (None, {}, "'vectors'.*create"),
        ([[1.0, 2.0], None], {"bags": False}, "'vectors'.*keeps no words.*None in row 1"),
        ([None, [1.0, 2.0]], {"terms": None}, "'vectors'.*keeps no words.*None in row 0"),
        ([None, [1.0, float("nan")]], {}, "'vectors'.*NaN, infinity or more in row 1"),
        ([None, [1.0], [1.0, 2.0]], {}, "'vectors'"),
        ([None, "text"], {}, "'vectors'"),
        ([None, [[1.0, 2.0]]], {}, r"'vectors'.*shape \(1, 1, 2\)"),
        ([None, [1.0, 2.0], [3.0, 4.0]], {}, r"'texts'.*one entry per vector \(3\). Got 2"),
    ],
)
def test_what_cannot_be_found_is_refused(vectors, options, said):
    with pytest.raises(hi2.InvalidParameter, match=said):
        hi2.HybridIndex.build(vectors, ["red", "blue"], **options)


def test_an_index_without_words_takes_no_document_without_a_vector(corpus):
    for options in ({"bags": False}, {"terms": None}):
        index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], **options)
        for vectors in ([None], None):
            with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*keeps no words"):
                index.add(vectors, corpus.texts[50:51])
        assert len(index) == 50


def test_given_weights_find_documents_without_a_vector():
    weights = [{"red": 1.0}, {"blue": 2.0}, {"red": 0.5, "blue": 0.1}]
    terms = hi2.TermWeights(tokenizer="wordpiece")
    index = hi2.HybridIndex.build([[1.0, 0.0], None, [0.0, 1.0]], term_weights=weights, terms=terms)
    assert index.search([1.0, 0.0], "blue", k=3, lexical=5).ids.tolist()[0] == 1
    assert 1 not in index.search([1.0, 0.0], k=3).ids.tolist()
