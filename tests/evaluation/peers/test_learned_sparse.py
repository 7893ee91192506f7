"""Learned term weights are searched as their authors intend."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hi2
from hi2.evaluation.peers.learned_sparse import DeepCT, DistilSPLADE


def test_deepct_is_bm25_with_weights_instead_of_counts(tmp_path):
    rows = [{"a": 0.5, "b": 0.1}, {"b": 0.4}, {"c": 1.0}]
    lines = (json.dumps({"id": str(i), "vector": own}) + "\n" for i, own in enumerate(rows))
    (tmp_path / "w.jsonl").write_text("".join(lines))
    found = list(DeepCT(tmp_path / "w.jsonl", {}).document_weights(tmp_path / "w.jsonl"))
    idf = np.log(1 + (3 - 1 + 0.5) / 1.5)  # of a: one document in three
    norm = 10 * (1 - 0.9 + 0.9 * 60 / np.mean([60, 40, 100]))
    assert found[0]["a"] == pytest.approx(idf * 50 * 11 / (50 + norm))


def test_documents_are_found_by_the_inner_product_of_weights(things, tmp_path):
    pytest.importorskip("seismic", reason="needs the extra 'lab'")
    rows = [{text.split()[0]: 1.0 + row / 1000, "all": 0.1} for row, text in enumerate(things.texts)]
    lines = (json.dumps({"id": str(row), "vector": own}) + "\n" for row, own in enumerate(rows))
    (tmp_path / "w.jsonl").write_text("".join(lines))
    peer = things.build(DistilSPLADE(tmp_path / "w.jsonl", {"a river": {"river": 2.0}}))
    rivers = [row for row, text in enumerate(things.texts) if "river" in text]
    assert peer.search(things.vectors[0], "a river", 3, peer.sweep()[-1]).tolist() == rivers[:-4:-1]
    with pytest.raises(hi2.InvalidParameter, match="no weights of the question 'other'"):
        peer.search(things.vectors[0], "other", 3, peer.sweep()[-1])
