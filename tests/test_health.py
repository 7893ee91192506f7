"""Health: nothing to say of a fresh index, and the right thing to say of one that was changed."""

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


def test_a_fresh_index_is_well(corpus, index):
    report = index.health(corpus.query_texts)
    assert report["advice"] == []
    assert report["documents"] == 400
    assert report["quantisation"] is None
    assert report["queries"] == {
        "n": len(corpus.query_texts),
        "without_term_list": report["queries"]["without_term_list"],
    }


def test_deleted_documents_ask_for_a_merge(index):
    index.delete(list(range(0, 400, 3)))
    assert index.health()["dead_share"] == pytest.approx(134 / 400)
    assert any(said.startswith("merge()") for said in index.health()["advice"])
    index.merge()
    assert index.health()["dead_share"] == 0
    assert not any(said.startswith("merge()") for said in index.health()["advice"])


def test_other_documents_ask_for_a_new_fit(corpus, index):
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


def test_more_of_the_same_does_not(corpus, index):
    index.add(corpus.vectors[400:600], corpus.texts[400:600], ids=list(range(400, 600)))
    report = index.health()
    assert 0.5 < report["quantisation"]["ratio"] < 1.25
    assert not any("err" in said for said in report["advice"])


def test_queries_without_terms_are_counted(corpus, index):
    for text in ("qqqq", "éé", "the"):
        index.search(corpus.query_vectors[0], text)
    report = index.health(["qqqqq zzzzz"] * 3 + corpus.query_texts[:2])
    assert report["queries"]["n"] == 5
    assert index.health()["queries"]["n"] == 3
