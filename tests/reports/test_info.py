"""``info`` reports documents, bytes, list skew and drift."""

from __future__ import annotations

import numpy as np
import pytest

import hi2


def test_counts_and_bytes_match_the_files(corpus, tmp_path):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(5), keep_text=True)
    index.save(tmp_path / "a")
    opened = hi2.HybridIndex.open(tmp_path / "a")
    info = opened.info()
    n = len(corpus.texts)
    assert info["n_docs"] == n
    assert info["bytes"]["codes"] == 5 * n
    assert info["bytes"]["stored"] > sum(len(text) for text in corpus.texts)
    assert info["bytes"]["id_characters"] == sum(len(id) for id in corpus.ids)
    assert info["path"] == str(tmp_path / "a")
    on_disk = sum(path.stat().st_size for path in (tmp_path / "a").rglob("*.*") if path.suffix in (".npy", ".jsonl"))
    on_disk += (tmp_path / "a" / "model" / "tokenizer.json").stat().st_size
    assert info["bytes"]["total"] == pytest.approx(on_disk, abs=30 * 128)  # without the headers
    parts = {k: v for k, v in info["bytes"].items() if k not in ("total", "model", "stored", "id_characters")}
    assert info["bytes_per_doc"] == pytest.approx(sum(parts.values()) / n)


def test_an_array_of_unknown_purpose_is_counted(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:20], corpus.texts[:20])
    segment = index._index.state.snapshot.segments[0].segment
    segment.arrays = {**segment.arrays, "of_a_later_release.npy": np.zeros(100, np.uint8)}
    assert index.info()["bytes"]["other"] == 100


def test_bytes_per_document_stay_small(corpus):
    """Codes, id characters, text and model are not counted; the list directory is large for so small a collection."""
    parts = {"codec": hi2.PQ(5), "ids": corpus.ids}
    bare = hi2.HybridIndex.build(corpus.vectors, corpus.texts, bags=False, **parts).info()
    assert bare["bytes_per_doc"] - 5 < 45
    assert "bags" not in bare["bytes"]
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, **parts)
    n_terms = len(index.model.terms.spec.bags(index.model.terms.tokenizer, corpus.texts).terms)
    size, notes = (index.info()["bytes"][part] for part in ("bags", "notes"))
    assert n_terms / 2 < size < 1.5 * n_terms  # a term of a bag takes little more than a byte
    assert index.info()["bytes_per_doc"] == pytest.approx(bare["bytes_per_doc"] + (size + notes) / len(index))


def test_list_skew_is_measured(corpus):
    index = hi2.HybridIndex.build(np.ones((40, 4)), ["word"] * 40, clusters=hi2.KMeans(4))
    clusters = index.info()["clusters"]
    assert clusters["n_lists"] == 4
    assert clusters["longest"] == 40
    assert clusters["empty"] == 3
    assert clusters["imbalance"] == pytest.approx(4.0)
    even = hi2.HybridIndex.build(np.eye(4), terms=None, clusters=hi2.KMeans(4)).info()["clusters"]
    assert even["imbalance"] == pytest.approx(1.0)


def test_drift_is_measured_since_the_fit(corpus, tmp_path):
    index = hi2.HybridIndex.build(corpus.vectors[:400], corpus.texts[:400], codec=hi2.Flat(), path=tmp_path / "a")
    assert index.info()["drift"] == {"added": 0}
    index.add(corpus.vectors[:200], corpus.texts[:200])
    alike = index.info()["drift"]
    index.commit()
    index.close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as again:
        assert again.info()["drift"] == alike
        again.add(corpus.vectors[:200], ["zebra giraffe elephant hippopotamus"] * 200)
        moved = again.info()["drift"]
    assert moved["df"] > alike["df"] > 0
    assert moved["added"] == 400
    assert moved["unseen_terms"] > 0
    assert moved["average_length"] < alike["average_length"]


def test_deletions_are_counted(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)
    index.delete(corpus.ids[:3])
    info = index.info()
    assert (info["n_docs"], info["n_deleted"]) == (len(corpus.ids) - 3, 3)
    assert "alive" in info["bytes"]


def test_queries_that_open_no_term_list_are_counted(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    known, unknown = corpus.query_texts[0], "ਪੰਜਾਬੀ"  # a script no document uses
    assert index.info()["searches"] == {"with_text": 0, "without_term_list": 0}
    vector = corpus.query_vectors[0]
    assert index.search(vector, known).n_term_lists > 0
    assert index.search(vector, unknown).n_term_lists == 0
    batch = index.search(corpus.query_vectors[:4], [known, unknown, None, unknown])
    assert batch.n_term_lists[0] == batch[0].n_term_lists > 0
    assert batch.n_term_lists[1:].tolist() == [0, 0, 0]
    index.search(vector)
    assert index.info()["searches"] == {"with_text": 5, "without_term_list": 3}
    told = index.info([known, unknown, unknown])["queries"]
    assert told == {"n": 3, "without_term_list": 2}
    assert hi2.HybridIndex.build(corpus.vectors, terms=None).info([known])["queries"]["without_term_list"] == 1
