"""Terms of documents and of queries are chosen as the paper defines."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import hi2
import oracle
from hi2.store.manifest import serialise


@pytest.fixture(scope="module")
def fitted(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts).model.terms


@pytest.fixture(scope="module")
def judge(corpus, fitted):
    tokens = [[fitted.tokenizer.number(t) for t in fitted.tokenizer.tokens(text)] for text in corpus.texts]
    return oracle.TermSide.bm25(tokens)


def test_documents_are_filed_under_the_oracles_terms(corpus, fitted, judge):
    bags = fitted.spec.bags(fitted.tokenizer, corpus.texts)
    selection = fitted.select(bags)
    for doc in range(len(corpus.texts)):
        begin, end = int(selection.offsets[doc]), int(selection.offsets[doc + 1])
        assert selection.terms[begin:end].tolist() == judge.chosen(doc, 15)
        expected = [judge.scores[doc][t] for t in selection.terms[begin:end].tolist()]
        np.testing.assert_allclose(selection.scores[begin:end], expected, rtol=1e-5)


def test_a_short_document_is_not_filed_under_all_its_terms(fitted):
    selection = fitted.select(fitted.spec.bags(fitted.tokenizer, ["of the in", "it", "", "a of the in it"]))
    assert np.diff(selection.offsets).tolist() == [2, 1, 0, 3]


def test_a_short_query_opens_all_its_terms_once(fitted):
    _, terms = fitted.query_terms(["the index of the index"], 32)
    assert [fitted.tokenizer.name(t) for t in terms.tolist()] == ["the", "index", "of"]


def test_a_long_query_opens_the_terms_with_the_highest_means(fitted, judge):
    text = "the sqlite database of a compressed archive in the thread pool"
    tokens = [fitted.tokenizer.number(t) for t in fitted.tokenizer.tokens(text)]
    _, terms = fitted.query_terms([text], 4)
    assert terms.tolist() == judge.query(tokens, 4)
    assert not {"the", "of", "a", "in"} & {fitted.tokenizer.name(t) for t in terms.tolist()}


def test_gamma_prunes_the_longest_lists_by_score(corpus):
    plain = hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    pruned = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, clusters=plain.model.clusters, terms=hi2.BM25(gamma=0.9)
    )
    before, after = plain.info()["terms"], pruned.info()["terms"]
    (live,) = plain._index.state.snapshot.segments
    keys, lengths = live.segment.native.term_lengths()
    threshold = int(np.sort(lengths)[int(0.9 * len(lengths))])
    assert after["longest"] == threshold
    assert after["pruned_lists"] == int((lengths > threshold).sum()) > 0
    assert (
        after["pruned_postings"]
        == before["n_postings"] - after["n_postings"]
        == int((lengths - threshold)[lengths > threshold].sum())
    )
    selector = plain.model.terms
    bags = selector.spec.bags(selector.tokenizer, corpus.texts)
    scores = selector.scores(bags)
    rows = np.repeat(np.arange(len(bags)), np.diff(bags.offsets).astype(np.int64))
    term = int(keys[np.argmax(lengths)])
    by_row = {int(r): float(s) for r, s, t in zip(rows, scores, bags.terms, strict=True) if t == term}
    full, kept = (
        sorted(
            i._index.state.snapshot.segments[0]
            .segment.rows[i._index.state.snapshot.segments[0].segment.native.term_list(term)[0]]
            .tolist()
        )
        for i in (plain, pruned)
    )
    assert kept == sorted(sorted(full, key=lambda r: (-by_row[r], r))[:threshold])


def test_a_replaced_tokenizer_is_refused(corpus, tmp_path):
    """Even if its checksum in the manifest is corrected: the terms were made with another tokenizer."""
    index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a")
    index.close()
    path = tmp_path / "a" / "model" / "tokenizer.json"
    other = path.read_bytes().replace(b'"lowercase":true', b'"lowercase":null')
    assert other != path.read_bytes()
    path.write_bytes(other)
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    entry = manifest["model"]["files"]["tokenizer.json"]
    entry |= {"sha256": hashlib.sha256(other).hexdigest(), "bytes": len(other)}
    (tmp_path / "a" / "manifest.json").write_bytes(serialise(manifest))
    with pytest.raises(hi2.FormatError, match="not the tokenizer it was built with"):
        hi2.HybridIndex.open(tmp_path / "a")


def test_without_gamma_nothing_is_pruned(corpus):
    info = hi2.HybridIndex.build(corpus.vectors, corpus.texts).info()["terms"]
    assert info["pruned_lists"] == info["pruned_postings"] == 0


def test_added_documents_do_not_change_the_statistics(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:300], corpus.texts[:300])
    df, means = index.model.terms.df.copy(), index.model.terms.mean_scores.copy()
    index.add(corpus.vectors[300:], corpus.texts[300:])
    np.testing.assert_array_equal(index.model.terms.df, df)
    np.testing.assert_array_equal(index.model.terms.mean_scores, means)
