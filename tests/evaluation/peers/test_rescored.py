"""BM25's best documents are put in the order of their vectors."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.rescored import Rescored


def test_the_best_by_words_are_ordered_by_vectors(things):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    peer = things.build(Rescored())
    vector, text = things.vectors[0], "river bread"
    rows = peer.top_rows(text, 30).tolist()
    expected = sorted(rows, key=lambda row: -float(things.vectors[row] @ vector))
    assert peer.search(vector, text, 10, {"n": 30}).tolist() == expected[:10]
    assert peer.count_scored(vector, text, 10, {"n": 30}) == 30
    assert peer.sweep() == [{"n": 100}, {"n": 200}]  # no deeper than there are documents
