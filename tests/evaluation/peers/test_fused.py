"""Rank fusion sums reciprocal ranks of both searches."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.fused import RANK_CONSTANT, Fused


def test_documents_are_ordered_by_the_sum_of_reciprocal_ranks(things):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    peer = things.build(Fused())
    vector, text, depth = things.vectors[3], "bread number11 engine", 100
    words = peer._words.top_rows(text, depth).tolist()
    near = peer._flat.search(vector, text, depth, {}).tolist()
    scores = {
        row: sum(1 / (RANK_CONSTANT + own.index(row) + 1) for own in (words, near) if row in own)
        for row in {*words, *near}
    }
    expected = sorted(scores, key=lambda row: (-scores[row], row))[:20]
    assert peer.search(vector, text, 20, {"depth": depth}).tolist() == expected
    assert peer.n_bytes == peer._words.n_bytes + peer._flat.n_bytes
