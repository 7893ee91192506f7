"""A search finds what the paper's equations find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hi2
import oracle


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)


@pytest.fixture(scope="module")
def judge(corpus, index):
    tokenizer = index.model.terms.tokenizer
    tokens = [[tokenizer.number(t) for t in tokenizer.tokens(text)] for text in corpus.texts]
    queries = [[tokenizer.number(t) for t in tokenizer.tokens(text)] for text in corpus.query_texts]
    return oracle.TermSide.bm25(tokens), queries


@pytest.mark.parametrize(
    ("clusters", "per_doc", "terms"), [(4, 15, 32), (1, 3, 4), (0, 15, 32), (9, 0, 32), (3, 15, 0)]
)
def test_search_equals_the_oracle(corpus, index, judge, clusters, per_doc, terms):
    side, queries = judge
    model = index.model
    labels = oracle.assign(corpus.vectors, model.clusters.anchors)
    filed = [side.chosen(doc, per_doc) for doc in range(len(corpus.texts))]
    effort = {"clusters": clusters, "per_doc": per_doc, "terms": terms}
    hits = index.search(corpus.query_vectors, corpus.query_texts, k=20, lexical=0, **effort)
    for i, (vector, tokens) in enumerate(zip(corpus.query_vectors, queries, strict=True)):
        opened = oracle.probe(vector, model.clusters.centroids, clusters)
        wanted = oracle.candidates(labels, opened, filed, side.query(tokens, terms) if per_doc else [])
        assert hits.n_scored[i] == len(wanted)
        scores = corpus.vectors.astype(np.float64) @ vector.astype(np.float64)
        expected = oracle.top(scores, wanted, 20)
        assert hits.counts[i] == len(expected)
        np.testing.assert_allclose(hits.scores[i, : len(expected)], scores[expected], atol=2e-6)
        if len(expected) and np.diff(scores[expected], append=scores[expected][-1] - 1).max() < -1e-5:
            assert hits.ids[i, : len(expected)].tolist() == [corpus.ids[doc] for doc in expected]


def test_opening_everything_equals_brute_force(corpus, index):
    hits = index.search(corpus.query_vectors, k=10, clusters=index.model.n_clusters)
    assert (hits.n_scored == len(index)).all()
    scores = corpus.vectors @ corpus.query_vectors.T
    np.testing.assert_allclose(hits.scores, np.sort(scores, axis=0)[::-1][:10].T, atol=2e-6)


def test_mean_scores_are_over_documents_that_contain_the_term(index, judge):
    side, _ = judge
    terms = np.array(sorted(side.means))
    expected = np.array([side.means[t] for t in terms])
    np.testing.assert_allclose(index.model.terms.mean_scores[terms], expected, rtol=1e-5)


@pytest.mark.parametrize("per_doc", [1, 4, 9])
def test_a_lower_per_doc_at_search_equals_a_build_with_it(corpus, index, per_doc):
    small = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, clusters=index.model.clusters, terms=hi2.BM25(per_doc=per_doc)
    )
    for clusters in (0, 2):
        at_search = index.search(
            corpus.query_vectors, corpus.query_texts, clusters=clusters, per_doc=per_doc, lexical=0
        )
        at_build = small.search(corpus.query_vectors, corpus.query_texts, clusters=clusters, lexical=0)
        assert (at_search.ids == at_build.ids).all()
        assert (at_search.scores == at_build.scores).all()
        assert (at_search.n_scored == at_build.n_scored).all()


def test_agreement_never_falls_with_more_clusters_or_a_higher_per_doc(corpus, index):
    exact = corpus.query_vectors @ corpus.vectors.T
    best = [set(np.argsort(-row)[:10]) for row in exact]
    position = {id: i for i, id in enumerate(corpus.ids)}

    def agreement(**search):
        hits = index.search(corpus.query_vectors, corpus.query_texts, k=10, lexical=0, **search)
        return [len(best[i] & {position[id] for id in row if id is not None}) for i, row in enumerate(hits.ids)]

    steps = [agreement(clusters=c, per_doc=p) for c, p in [(0, 1), (1, 1), (1, 5), (4, 5), (4, 15), (30, 15)]]
    for fewer, more in itertools.pairwise(steps):
        assert all(a <= b for a, b in zip(fewer, more, strict=True))


def test_documents_with_equal_scores_are_in_order_of_arrival():
    vectors = np.tile(np.array([[1.0, 0.0]], np.float32), (50, 1))
    index = hi2.HybridIndex.build(vectors, terms=None, clusters=hi2.KMeans(3))
    assert index.search(np.array([1.0, 0.0]), k=7, clusters=3).ids.tolist() == list(range(7))
    index.add(vectors[:5])
    assert index.search(np.array([1.0, 0.0]), k=55, clusters=3).ids.tolist() == list(range(55))


def test_a_document_in_many_lists_is_scored_once():
    index = hi2.HybridIndex.build(np.eye(4, dtype=np.float32), ["river boat ship sail wind"] * 4)
    hits = index.search(np.eye(4, dtype=np.float32)[0], "river boat ship sail wind", k=10, clusters=4)
    assert hits.n_scored == 4
    assert len(hits) == 4


def test_one_query_and_a_batch_give_the_same_answer(corpus, index):
    batch = index.search(corpus.query_vectors, corpus.query_texts, k=5)
    for i in range(0, len(batch), 7):
        single = index.search(corpus.query_vectors[i], corpus.query_texts[i], k=5)
        assert single.ids.tolist() == batch[i].ids.tolist()
        assert single.scores.tolist() == batch[i].scores.tolist()
        assert single.n_scored == batch[i].n_scored
        assert list(single) == list(zip(single.ids.tolist(), single.scores.tolist(), strict=True))


def test_an_index_works_without_clusters_or_without_terms(corpus):
    terms_only = hi2.HybridIndex.build(corpus.vectors, corpus.texts, clusters=None)
    clusters_only = hi2.HybridIndex.build(corpus.vectors, terms=None)
    assert terms_only.search(corpus.query_vectors, clusters=0).n_scored.sum() == 0
    assert terms_only.search(corpus.query_vectors, corpus.query_texts).n_scored.sum() > 0
    assert clusters_only.search(corpus.query_vectors, corpus.query_texts).n_scored.sum() > 0


def test_cosine_normalises_documents_and_queries(corpus):
    lengths = np.linspace(0.5, 9, len(corpus.vectors), dtype=np.float32)[:, None]
    cosine = hi2.HybridIndex.build(corpus.vectors * lengths, corpus.texts, metric="cosine")
    hits = cosine.search(corpus.query_vectors * 3, corpus.query_texts, k=5, lexical=0)
    exact = corpus.vectors @ corpus.query_vectors.T
    np.testing.assert_allclose(hits.scores[:, 0], exact[hits.ids[:, 0], np.arange(len(hits))], atol=1e-5)


@pytest.mark.parametrize(
    "codec", [hi2.OPQ(subspaces=5), hi2.PQ(subspaces=20, bits=4), hi2.PQ(subspaces=5, residual=True)]
)
def test_a_deep_refine_makes_a_coarse_codec_exact(corpus, index, codec):
    coarse = hi2.HybridIndex.build(
        corpus.vectors,
        corpus.texts,
        ids=corpus.ids,
        clusters=index.model.clusters,
        terms=index.model.terms,
        codec=codec,
        refine=hi2.Flat(),
    )
    asked = {"k": 10, "lexical": 0}
    exact = index.search(corpus.query_vectors, corpus.query_texts, **asked)
    deep = coarse.search(corpus.query_vectors, corpus.query_texts, refine=1000, **asked)
    assert (deep.ids == exact.ids).all()
    assert (deep.scores == exact.scores).all()
    raw = coarse.search(corpus.query_vectors, corpus.query_texts, refine=0, **asked)
    assert (raw.ids != exact.ids).any()
    shallow = coarse.search(corpus.query_vectors, corpus.query_texts, refine=2, **asked)
    overlap = [len(set(a) & set(b)) for a, b in zip(shallow.ids, exact.ids, strict=True)]
    assert np.mean(overlap) > np.mean([len(set(a) & set(b)) for a, b in zip(raw.ids, exact.ids, strict=True)])


def test_refine_takes_its_candidates_from_the_codec_alone(corpus, index):
    """``refine=1`` rescores exactly the k best hits of the codec: the same documents, in exact order."""
    coarse = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(subspaces=5), refine=hi2.Flat()
    )
    raw = coarse.search(corpus.query_vectors, corpus.query_texts, k=10, refine=0, lexical=0)
    one = coarse.search(corpus.query_vectors, corpus.query_texts, k=10, refine=1, lexical=0)
    for a, b in zip(raw.ids, one.ids, strict=True):
        assert set(a) == set(b)
    assert (np.diff(one.scores, axis=1) <= 0).all()


def test_boundary_copies_are_found_in_their_further_clusters(corpus):
    plain = hi2.HybridIndex.build(corpus.vectors, terms=None, clusters=hi2.KMeans(20))
    copied = hi2.HybridIndex.build(corpus.vectors, terms=None, clusters=hi2.KMeans(20, copies=2, copy_margin=0.3))
    np.testing.assert_array_equal(plain.model.clusters.anchors, copied.model.clusters.anchors)
    few, more = plain.search(corpus.query_vectors, clusters=2), copied.search(corpus.query_vectors, clusters=2)
    assert more.n_scored.sum() > few.n_scored.sum()
    everything = copied.search(corpus.query_vectors, clusters=20)
    assert (everything.n_scored == len(corpus.texts)).all()  # a copy is never scored twice
    explained = copied.explain(corpus.vectors[0], id=0, clusters=20)
    assert explained.outcome == "found"
    spread = [copied.explain(corpus.vectors[i], id=i).clusters for i in range(60)]
    assert any(match.copy for matches in spread for match in matches)
    assert max(len(matches) for matches in spread) <= 3


# -- searches that find too little ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scattered():
    """Clusters of a few documents each."""
    vectors = np.random.default_rng(4).standard_normal((5000, 8)).astype(np.float32)
    texts = [f"word{i}" for i in range(5000)]
    return hi2.HybridIndex.build(vectors, texts, clusters=hi2.KMeans(2500), codec=hi2.Flat(), progress=False), vectors


def test_a_search_that_finds_too_little_opens_more(scattered):
    index, vectors = scattered
    exact = np.argsort(-(vectors @ vectors[3]), kind="stable")[:4000]
    for k in (200, 4000):
        hits = index.search(vectors[3], "word3", k=k)
        assert len(hits) == k
    assert np.isin(exact, hits.ids).mean() > 0.95
    batch = index.search(vectors[:3], ["word0", None, "word2"], k=300)
    assert batch.counts.tolist() == [300] * 3
    assert batch[1].ids.tolist() == index.search(vectors[1], k=300).ids.tolist()
    assert len(index.search(vectors[3], "word3", k=9000)) == 5000
    assert len(index.search(vectors[3], "word3", k=50, offset=400)) == 50


def test_a_search_that_says_what_to_open_opens_no_more(scattered):
    index, vectors = scattered
    for given in ({"clusters": 2}, {"budget": 50}, {"adaptive": 0.5}, {"terms": 3, "clusters": 1}, {"per_doc": 2}):
        few = index.search(vectors[3], "word3", k=2000, **given)
        assert len(few) < 2000, given
    assert len(index.search(None, "word3 word4", k=100)) == 2


def test_a_query_without_a_filter_widens_beside_others_that_have_one():
    rng = np.random.default_rng(0)
    index = hi2.HybridIndex.build(rng.standard_normal((3000, 8)), terms=None, clusters=hi2.KMeans(200))
    queries = rng.standard_normal((2, 8))
    assert index.search(queries, k=2500, filters=[None, None]).counts.tolist() == [2500, 2500]
