"""Learned term weights are searched as their authors intend."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hi2.evaluation.peers.learned_sparse import DeepCT


def test_deepct_is_bm25_with_weights_instead_of_counts(tmp_path):
    rows = [{"a": 0.5, "b": 0.1}, {"b": 0.4}, {"c": 1.0}]
    lines = (json.dumps({"id": str(i), "vector": own}) + "\n" for i, own in enumerate(rows))
    (tmp_path / "w.jsonl").write_text("".join(lines))
    found = list(DeepCT(tmp_path / "w.jsonl", {}).document_weights(tmp_path / "w.jsonl"))
    idf = np.log(1 + (3 - 1 + 0.5) / 1.5)  # of a: one document in three
    norm = 10 * (1 - 0.9 + 0.9 * 60 / np.mean([60, 40, 100]))
    assert found[0]["a"] == pytest.approx(idf * 50 * 11 / (50 + norm))
