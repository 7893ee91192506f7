"""Predicted questions are indexed with their document."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.doct5 import DocT5


def test_a_document_is_found_by_its_predicted_question(things, tmp_path):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    lines = ["zebra crossing" if row == 7 else "nothing" for row in range(len(things.texts))]
    (tmp_path / "expansions.txt").write_text("\n".join(lines))
    peer = things.build(DocT5(tmp_path / "expansions.txt"))
    assert peer.search(things.vectors[0], "zebra", 10, {}).tolist() == [7]
    assert 7 in peer.search(things.vectors[0], "number7", 10, {}).tolist()
