"""A draft files every document under its terms; lists that are too long lose their lowest scores."""

from __future__ import annotations

import numpy as np

import hi2


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


def test_without_gamma_nothing_is_pruned(corpus):
    info = hi2.HybridIndex.build(corpus.vectors, corpus.texts).info()["terms"]
    assert info["pruned_lists"] == info["pruned_postings"] == 0
