"""``explain`` says which lists made a document a candidate, or why it was not found."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hi2
from hi2 import _native

VECTORS = np.array([[1, 0], [0.9, 0.1], [0, 1], [-1, 0]], np.float32)
TEXTS = ["sqlite database file", "zip archive file", "thread pool worker", "socket network address"]


@pytest.fixture(scope="module")
def index():
    return hi2.HybridIndex.build(
        VECTORS, TEXTS, ids=["db", "zip", "thread", "socket"], clusters=hi2.KMeans(3), terms=hi2.BM25(per_doc=2)
    )


def test_a_found_document_is_explained(index):
    why = index.explain(VECTORS[0], "database", id="db", k=2, clusters=1)
    assert why.outcome == "found"
    assert why.rank == 1
    assert why.score == why.exact_score == 1.0
    assert [term.term for term in why.terms] == ["database"]
    assert why.clusters[0].opened
    assert why.clusters[0].place == 1
    assert "found at rank 1" in str(why)
    assert why.to_dict()["terms"][0]["counts"] is True


def test_a_document_in_none_of_the_opened_lists_is_explained(index):
    why = index.explain(VECTORS[0], "database", id="socket", k=2, clusters=1)
    assert why.outcome == "no shared list"
    assert why.rank is None
    assert why.score == -1.0
    assert not why.clusters[0].opened
    assert f"clusters={why.clusters[0].place}" in str(why)
    reached = index.search(VECTORS[0], "database", k=4, clusters=why.clusters[0].place)
    assert "socket" in reached.ids.tolist()  # the advice is right


def test_a_document_that_others_outscore_is_explained(index):
    why = index.explain(VECTORS[0], id="thread", k=1, clusters=3)
    assert why.outcome == "outscored"
    assert why.rank == 3
    assert why.lowest_hit == 1.0
    assert "rank 3" in str(why)


def test_an_id_that_is_not_in_the_index_is_explained(index):
    why = index.explain(VECTORS[0], "database", id="nobody")
    assert why.outcome == "not in the index"
    assert "not in the index" in str(why)


def test_queries_without_terms_and_terms_without_documents_are_explained(index):
    assert "no term" in str(index.explain(VECTORS[0], "", id="db"))
    why = index.explain(VECTORS[0], "elephant database", id="db")
    assert why.unmatched_terms == ("elephant",)
    assert "elephant" in str(why)


def test_terms_beyond_per_doc_do_not_count(index):
    deep = index.explain(VECTORS[0], "sqlite database file", id="db", clusters=0)
    (second,) = [term for term in deep.terms if term.rank == 1]
    why = index.explain(VECTORS[0], second.term, id="db", clusters=0, per_doc=1)
    assert why.outcome == "no shared list"
    assert not why.terms[0].counts
    assert "beyond per_doc" in str(why)


def test_codec_refine_and_exact_scores_are_reported_separately(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(5), refine=hi2.Flat())
    why = index.explain(corpus.vectors[3], corpus.texts[3], id=corpus.ids[3])
    assert why.exact_score == why.refine_score == pytest.approx(1.0, abs=1e-5)
    assert why.score != why.exact_score
    bare = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(5))
    assert bare.explain(corpus.vectors[3], id=corpus.ids[3]).exact_score is None


def test_a_document_that_was_not_rescored_is_explained(corpus):
    """Its rank is that of the codec, and the text says so."""
    index = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(1, bits=4), refine=hi2.Flat()
    )
    settings = {"k": 5, "clusters": 1000}
    kinds = set()
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        by_codec = index.search(vector, text, **{**settings, "k": len(index)}, refine=0).ids.tolist()
        rescored = index.search(vector, text, k=15, clusters=1000, refine=1).ids.tolist()
        for id in (by_codec[2], by_codec[14], by_codec[15], by_codec[200]):
            why = index.explain(vector, text, id=id, refine=3, **settings)
            assert why.rescored == (id in rescored)
            assert why.rank == (rescored.index(id) if id in rescored else by_codec.index(id)) + 1
            assert (why.outcome == "found") == (id in rescored[:5])
            assert ("too low to be rescored" in str(why)) == (id not in rescored)
            kinds.add((why.outcome, why.rescored))
    assert kinds == {("found", True), ("outscored", True), ("outscored", False)}


def test_the_reason_that_no_term_was_opened_is_given(corpus, index):
    clusters_only = hi2.HybridIndex.build(corpus.vectors, terms=None)
    assert "built without terms" in str(clusters_only.explain(corpus.vectors[0], "text", id=0))
    assert "skipped terms" in str(index.explain(VECTORS[0], "database", id="db", terms=0))
    assert "has no text" in str(index.explain(VECTORS[0], id="db"))
    assert "none of its tokens" in str(index.explain(VECTORS[0], "", id="db"))


def test_explain_agrees_with_search(corpus):
    """The explained outcome matches the search for every setting."""
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)
    index.delete(corpus.ids[::11])
    for i, (vector, text) in enumerate(zip(corpus.query_vectors, corpus.query_texts, strict=True)):
        settings = {"k": 5, "clusters": i % 4, "per_doc": 3 * (i % 5), "budget": 40 if i % 2 else None}
        found = index.search(vector, text, **settings).ids.tolist()
        scored = index.search(vector, text, **{**settings, "k": 5000}).ids.tolist()
        for id in corpus.ids[i::97]:
            why = index.explain(vector, text, id=id, **settings)
            expected = (
                "not in the index"
                if id not in index
                else "found"
                if id in found
                else "outscored"
                if id in scored
                else "no shared list"
            )
            assert why.outcome == expected
            assert why.rank == (scored.index(id) + 1 if id in scored else None)


def test_copies_are_found_without_decoding_every_list(corpus, monkeypatch):
    clusters = hi2.KMeans(20, copies=2, copy_margin=0.3)
    index = hi2.HybridIndex.build(corpus.vectors, ids=corpus.ids, terms=None, clusters=clusters, progress=False)
    segment = index._index.state.snapshot.segments[0].segment
    expected = {id: [] for id in corpus.ids}
    for cluster, doc, _ in zip(*segment.native.copy_postings(), strict=True):
        expected[segment.take_ids(segment.rows[[doc]].astype(np.uint32))[0]].append(int(cluster))
    assert {len(own) for own in expected.values()} >= {0, 1, 2}

    def refuse(_):
        raise AssertionError("every copy was decoded")

    monkeypatch.setattr(_native.Segment, "copy_postings", refuse)
    for id in corpus.ids[::7]:
        why = index.explain(corpus.vectors[0], id=id)
        assert [match.cluster for match in why.clusters if match.copy] == expected[id]


def test_a_list_that_does_not_fit_the_budget_is_named(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, terms=hi2.BM25(per_doc=3))
    words = dict.fromkeys(" ".join(corpus.texts).split())
    answers = [(word, index.search(corpus.vectors[0], word, k=500, clusters=0).ids.tolist()) for word in words]
    short = next((word, held) for word, held in answers if len(held) == 2)
    long = next((word, held) for word, held in answers if len(held) > 4)
    outside = next(id for id in long[1] if id not in short[1])
    asked = f"{short[0]} {long[0]}"
    why = index.explain(corpus.vectors[0], asked, id=outside, clusters=0, budget=3)
    assert why.outcome == "no shared list"
    assert [match.opened for match in why.terms] == [False]
    assert "not opened as far as its cluster" in str(why)
    assert "A larger budget would reach it." in str(why)
    assert index.explain(corpus.vectors[0], asked, id=outside, clusters=0, budget=10_000).outcome != "no shared list"

    cut = index.search(corpus.vectors[0], long[0], k=500, clusters=0, budget=1)
    assert cut.n_scored == 1
    beyond = next(id for id in long[1] if id not in cut.ids)
    why = index.explain(corpus.vectors[0], long[0], id=beyond, clusters=0, budget=1)
    assert why.outcome == "no shared list"
    assert "A larger budget would reach it." in str(why) or "The budget ended before it was reached" in str(why)


def test_the_advice_is_right_within_a_budget(corpus):
    """The setting that an explanation recommends makes the document a candidate."""
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)
    given = 0
    for i, (vector, text) in enumerate(zip(corpus.query_vectors, corpus.query_texts, strict=True)):
        settings = {"clusters": 1 + i % 3, "per_doc": 1 + i % 3, "budget": 5 + 10 * i}
        for id in corpus.ids[i::53]:
            why = index.explain(vector, text, id=id, **settings)
            if why.outcome != "no shared list":
                continue
            given += 1
            changed = {**settings, "budget": 10**6}
            advised = re.search(r"\(clusters=(\d+)\)", str(why))
            if advised:
                changed["clusters"] = int(advised[1])
            assert index.explain(vector, text, id=id, **changed).outcome != "no shared list", str(why)
    assert given > 50
