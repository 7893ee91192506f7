"""BM25 finds documents by stemmed words, and those that share one only."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.bm25 import BM25s


@pytest.fixture(scope="module")
def peer(things):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    return things.build(BM25s())


def test_documents_that_share_a_word_are_found(things, peer):
    found = peer.search(things.vectors[0], "the rivers", 400, {})
    assert sorted(found.tolist()) == [row for row, text in enumerate(things.texts) if "river" in text]
    assert len(peer.top_rows("river", 3)) == 3
    assert peer.top_rows("bread number9", 1).tolist() == [9]


def test_stop_words_and_unknown_words_find_nothing(things, peer):
    for text in ("the of and", "zebra", ""):
        assert peer.search(things.vectors[0], text, 10, {}).tolist() == []
