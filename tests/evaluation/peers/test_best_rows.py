"""The best rows are those of a full sort."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.evaluation.peers.best_rows import best_rows


@pytest.mark.parametrize("k", [1, 7, 99, 100, 500])
def test_a_selection_equals_a_sort(k):
    random = np.random.default_rng(k)
    scores = random.integers(0, 20, 100).astype(np.float32)  # many are equal
    rows = random.permutation(1000)[:100]
    expected = sorted(zip(-scores, rows, strict=True))[:k]
    assert best_rows(rows, scores, k).tolist() == [row for _, row in expected]
    expected = sorted(zip(-scores, range(100), strict=True))[:k]
    assert best_rows(None, scores, k).tolist() == [row for _, row in expected]


def test_nothing_has_no_best_rows():
    assert best_rows(np.zeros(0, np.int64), np.zeros(0, np.float32), 5).tolist() == []
