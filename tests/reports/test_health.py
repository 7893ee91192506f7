"""``health`` has no advice for a fresh index and the right advice for a changed one."""

from __future__ import annotations

import numpy as np
import pytest

import hi2


@pytest.fixture
def index(corpus):
    return hi2.HybridIndex.build(
        corpus.vectors[:400],
        corpus.texts[:400],
        clusters=hi2.KMeans(8),
        codec=hi2.RaBitQ(),
        refine=hi2.SQ8(),
        progress=False,
    )


def test_a_fresh_index_needs_no_advice(corpus, index):
    report = index.health(corpus.query_texts)
    assert report["advice"] == []
    assert report["documents"] == 400
    assert report["quantisation"] is None
    assert report["queries"] == {
        "n": len(corpus.query_texts),
        "without_term_list": report["queries"]["without_term_list"],
    }


def test_many_deleted_documents_lead_to_the_advice_to_merge(index):
    index.delete(list(range(0, 400, 3)))
    assert index.health()["dead_share"] == pytest.approx(134 / 400)
    assert any(said.startswith("merge()") for said in index.health()["advice"])
    index.merge()
    assert index.health()["dead_share"] == 0
    assert not any(said.startswith("merge()") for said in index.health()["advice"])


def test_different_documents_lead_to_the_advice_to_rebuild_and_tune(corpus, index):
    random = np.random.default_rng(0)
    strange = 5 * random.standard_normal((500, corpus.vectors.shape[1])).astype(np.float32)
    index.add(strange, [f"zebra quark {'violin ' * 60}"] * 500)
    report = index.health()
    assert report["drift"]["df"] > 0.9
    assert report["quantisation"]["ratio"] > 2
    said = " ".join(report["advice"])
    assert "terms have moved" in said
    assert "times as long" in said or report["drift"]["average_length"] < 1.5
    assert "codes of added documents err" in said
    assert "tune()" in said
    index.tune(strange[:40], k=10, progress=False)
    assert not any(own.startswith("tune()") for own in index.health()["advice"])


def test_similar_documents_lead_to_no_such_advice(corpus, index):
    index.add(corpus.vectors[400:600], corpus.texts[400:600], ids=list(range(400, 600)))
    report = index.health()
    assert 0.5 < report["quantisation"]["ratio"] < 1.25
    assert not any("err" in said for said in report["advice"])


def test_given_queries_and_past_searches_are_counted(corpus, index):
    for text in ("qqqq", "éé", "the"):
        index.search(corpus.query_vectors[0], text)
    report = index.health(["qqqqq zzzzz"] * 3 + corpus.query_texts[:2])
    assert report["queries"]["n"] == 5
    assert index.health()["queries"]["n"] == 3
