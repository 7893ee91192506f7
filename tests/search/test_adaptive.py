"""Adaptive search scores exactly the documents whose chance is high enough, whatever the segments and deletions."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import hi2
import oracle
from hi2 import _native
from hi2.search.effort import resolve_effort
from hi2.search.execute import execute
from hi2.state.benefit import DEFAULT_BENEFIT, Benefit, log_odds

SHARES = [0.5, 0.1, 0.02, 0.003, 0.0]


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, clusters=hi2.KMeans(40), codec=hi2.Flat(), progress=False
    )


def terms_of(index, text):
    return index.model.terms.query_terms([text], 32)[1]


def promised(index, vector, text, share):
    """Return the documents of one segment that an adaptive search must score; plain numpy, except for the bins."""
    model, snapshot = index.model, index._index.state.snapshot
    segment, alive = snapshot.segments[0].segment, snapshot.segments[0].flags()
    terms = terms_of(index, text)
    effort = resolve_effort(model, k=1, adaptive=share)
    bins, *_ = _native.admission(model.native, snapshot.native, vector, terms, effort.native)
    scores = model.clusters.centroids.astype(np.float64) @ vector
    # Nearer clusters are in earlier bins.
    assert (np.diff(bins[np.argsort(-scores, kind="stable")].astype(int)) >= 0).all()
    n_bins = int(bins.max()) + 1  # the farthest cluster is in the last bin
    lists = {int(term): segment.native.term_list(int(term))[0] for term in terms}
    filed = [term for term, docs in lists.items() if len(docs)]
    rarities = [math.log1p(segment.n_docs / len(lists[term])) for term in filed]
    plain, under = oracle.expected(DEFAULT_BENEFIT.array, scores, bins, n_bins, rarities)
    cut = log_odds(share)

    def reach(values):
        below = np.flatnonzero(values < cut)
        return int(below[0]) if len(below) else len(values)

    own = bins[segment.labels()]
    wanted = set(np.flatnonzero(own < max(reach(plain), 1)).tolist())
    for term, values in zip(filed, under, strict=True):
        docs = lists[term]
        wanted |= set(docs[own[docs] < reach(values)].tolist())
    return {segment.take_ids(segment.rows[[doc]].astype(np.uint32))[0] for doc in wanted if alive[doc]}


@pytest.mark.parametrize("share", SHARES)
def test_adaptive_search_scores_the_documents_whose_chance_is_high_enough(corpus, index, share):
    batch = index.search(corpus.query_vectors, corpus.query_texts, k=2000, adaptive=share, threads=2, lexical=0)
    sizes = set()
    for i, (vector, text) in enumerate(zip(corpus.query_vectors, corpus.query_texts, strict=True)):
        wanted = promised(index, vector, text, share)
        alone = index.search(vector, text, k=2000, adaptive=share, lexical=0)
        assert set(alone.ids.tolist()) == wanted
        assert alone.n_scored == len(wanted) == batch.n_scored[i]
        assert batch[i].ids.tolist() == alone.ids.tolist()
        assert alone.n_term_lists == index.search(vector, text).n_term_lists
        sizes.add(len(wanted))
    assert len(sizes) > 1 or share == 0.0  # queries open different numbers of documents


def test_a_chance_of_zero_scores_everything_and_a_chance_of_one_the_nearest_clusters(corpus, index):
    hits = index.search(corpus.query_vectors[0], corpus.query_texts[0], k=10, adaptive=0.0)
    assert hits.n_scored == len(index)
    least = index.search(corpus.query_vectors[0], corpus.query_texts[0], k=10, adaptive=1.0)
    assert 0 < least.n_scored < 200  # the nearest clusters are always opened
    nothing = index.search(np.zeros_like(corpus.query_vectors[0]), None, k=10, adaptive=0.0, clusters=1)
    assert 0 < nothing.n_scored < 200  # all clusters are equally near, and one is still opened


def test_terms_alone_and_clusters_alone_together_give_the_whole_search(corpus, index):
    vector, text = corpus.query_vectors[2], corpus.query_texts[2]
    whole = set(index.search(vector, text, k=2000, adaptive=0.01).ids.tolist())
    terms = set(index.search(vector, text, k=2000, adaptive=0.01, clusters=0).ids.tolist())
    clusters = set(index.search(vector, None, k=2000, adaptive=0.01).ids.tolist())
    assert terms | clusters == whole
    assert terms - clusters
    assert clusters - terms
    few = index.search(vector, None, k=2000, adaptive=0.0, clusters=3)
    assert set(few.ids.tolist()) == set(index.search(vector, None, k=2000, clusters=3).ids.tolist())


@pytest.mark.parametrize("budget", [1, 17, 60, 200, 10_000])
def test_a_budget_scores_the_most_promising_documents(corpus, index, budget):
    for vector, text in zip(corpus.query_vectors[:6], corpus.query_texts[:6], strict=True):
        found = index.search(vector, text, k=2000, budget=budget)
        assert 0 < found.n_scored <= budget
        if budget < 60 or found.n_scored == len(index):
            continue
        # It contains whatever an adaptive search that fits the budget would score.
        ids = set(found.ids.tolist())
        for share in np.geomspace(0.9, 1e-6, 60):
            own = set(index.search(vector, text, k=2000, adaptive=float(share)).ids.tolist())
            assert len(own) > len(ids) - 2 or own <= ids


def test_adaptive_search_handles_segments_copies_and_deletions(corpus):
    clusters = hi2.KMeans(12, copies=1, copy_margin=0.3)
    index = hi2.HybridIndex.build(corpus.vectors[:400], corpus.texts[:400], ids=corpus.ids[:400], clusters=clusters)
    index.add(corpus.vectors[400:500], corpus.texts[400:500], ids=corpus.ids[400:500])
    gone = corpus.ids[:450:3] + corpus.ids[1:450:3]
    index.delete(gone)
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        every = index.search(vector, text, k=500, adaptive=0.0)
        assert set(every.ids.tolist()) == set(corpus.ids[:500]) - set(gone)
        some = index.search(vector, text, k=500, budget=50)
        assert 0 < some.n_scored <= 50
        assert set(some.ids.tolist()).isdisjoint(gone)


def test_adaptive_search_works_without_clusters_or_without_terms(corpus):
    terms = hi2.HybridIndex.build(corpus.vectors, corpus.texts, clusters=None, progress=False)
    clusters = hi2.HybridIndex.build(corpus.vectors, terms=None, progress=False)
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        every = terms.search(vector, text, k=2000, clusters=0)
        assert terms.search(vector, text, budget=30, k=500).n_scored <= 30
        assert 0 < clusters.search(vector, budget=30, k=500).n_scored <= 30
        assert terms.search(vector, text, adaptive=0.0, k=2000).ids.tolist() == every.ids.tolist()
    assert terms.search(corpus.query_vectors[0], None, budget=5).n_scored == 0


def test_explain_says_how_far_a_list_was_opened(corpus, index):
    seen = set()
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        scored = set(index.search(vector, text, k=2000, adaptive=0.02, lexical=0).ids.tolist())
        for id in corpus.ids[::61]:
            why = index.explain(vector, text, id=id, adaptive=0.02, lexical=0)
            assert (why.outcome in ("found", "outscored")) == (id in scored)
            if why.outcome == "no shared list":
                seen.add("A lower adaptive would reach it." in str(why))
    assert True in seen


def test_a_budget_is_kept_whatever_was_learned(corpus, index):
    """This includes terms with a negative weight, whose documents come in through their clusters instead."""
    state = index._index.state
    for numbers in ((-1, -1, 0, 0, -6, 0, 0), (-1, 0, 0, 0, 0, 0, 0), (-2, -0.5, 0, -0.3, -0.4, 0.2, 0.3)):
        benefit = Benefit(*map(float, numbers))
        for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
            for budget in (20, 150):
                effort = resolve_effort(index.model, k=2000, budget=budget, benefit=benefit)
                found = execute(state, vector, text, effort)
                assert 0 < found.n_scored <= budget
                assert found.n_scored == len(found)


def test_a_budget_is_used_up_when_one_list_is_longer_than_it():
    texts = ["rare freq" if i < 5 else "freq" for i in range(400)]
    vectors = np.random.default_rng(0).standard_normal((400, 8)).astype(np.float32)
    terms = hi2.BM25(tokenizer=hi2.WordTokenizer())
    index = hi2.HybridIndex.build(vectors, texts, clusters=None, terms=terms, progress=False)
    assert index.search(vectors[0], "rare freq", k=300, budget=100).n_scored == 100


def test_centroids_whose_scores_overflow_do_no_harm():
    vectors = np.random.default_rng(0).standard_normal((300, 16)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors, terms=None, clusters=hi2.KMeans(10), progress=False)
    clusters = index.model.clusters
    bad = clusters.centroids.copy()
    bad[3] = np.repeat(np.float32([3e38, -3e38]), 8)
    damaged = dataclasses.replace(clusters, centroids=bad)
    other = hi2.HybridIndex.build(vectors, terms=None, clusters=damaged, codec=hi2.Flat(), progress=False)
    effort = resolve_effort(other.model, k=1, clusters=10, adaptive=0.05)
    for query in (vectors[0], 1e15 * np.ones(16, np.float32), 1e-39 * vectors[1]):
        bins, *_ = _native.admission(
            other.model.native, other._index.state.snapshot.native, query, np.zeros(0, np.uint32), effort.native
        )
        assert bins.max() < 512
        assert other.search(query, adaptive=0.0, k=300).n_scored == 300


def test_a_search_never_scores_more_than_its_budget(corpus):
    """With deletions, copies and a lower per_doc; with clusters alone, terms alone and both."""
    clusters = hi2.KMeans(12, copies=1, copy_margin=0.3)
    index = hi2.HybridIndex.build(corpus.vectors[:400], corpus.texts[:400], ids=corpus.ids[:400], clusters=clusters)
    index.add(corpus.vectors[400:500], corpus.texts[400:500], ids=corpus.ids[400:500])
    index.delete(corpus.ids[:450:3] + corpus.ids[1:450:3])
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        for setting in ({"clusters": 12}, {"clusters": 0}, {"terms": 0, "clusters": 4}, {"per_doc": 2, "clusters": 12}):
            free = index.search(vector, text, k=500, **setting)
            for budget in (1, 7, 50, 1000):
                bounded = index.search(vector, text, k=500, budget=budget, **setting)
                assert bounded.n_scored <= min(budget, free.n_scored)
                assert set(bounded.ids.tolist()) <= set(free.ids.tolist())


@pytest.mark.parametrize("setting", [{"budget": 20}, {"budget": 200}, {"adaptive": 0.05}], ids=str)
def test_a_document_is_found_by_its_rarest_word_whatever_is_expected_of_its_cluster(setting):
    """In every segment, also where a budget ends before the segment is reached."""
    random = np.random.default_rng(4)
    vectors = random.standard_normal((1500, 16)).astype(np.float32)
    texts = [" ".join(random.choice(["river", "stone", "cloud", "tree", "bird"], 9)) for _ in vectors]
    index = hi2.HybridIndex.build(vectors[:1000], texts[:1000], clusters=hi2.KMeans(20))
    marked = {1100 + 7 * i: f"ey{i}z" for i in range(30)}
    for row, code in marked.items():
        texts[row] += f" {code}"
    index.add(vectors[1000:], texts[1000:], ids=list(range(1000, 1500)))
    assert index.info()["n_segments"] > 1
    for row, code in marked.items():
        hits = index.search(-vectors[row], f"what is {code}", k=5, lexical=1.0, **setting)
        assert row in hits.ids.tolist()
        why = index.explain(-vectors[row], f"what is {code}", id=row, k=5, lexical=1.0, budget=setting.get("budget"))
        assert why.outcome == "found"
        assert any(match.opened and match.counts for match in why.terms) or why.noted_terms == (code,)
