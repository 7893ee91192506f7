"""What exhaustive search finds is measured as the evaluation measures it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

from hi2.evaluation.measures import Measure
from hi2.training.reconstruction import recall_and_ndcg


def test_recall_and_ndcg_equal_the_measures():
    random = np.random.default_rng(4)
    queries, documents = (random.standard_normal((n, 8)).astype(np.float32) for n in (30, 400))
    targets = [np.unique(random.integers(0, 400, random.integers(1, 5))) for _ in range(30)]
    best = np.argsort(-(queries @ documents.T), axis=1)[:, :100]
    gains = [[float(row in wanted) for row in rows] for rows, wanted in zip(best, targets, strict=True)]
    expected = [
        np.mean([Measure(name, 100)(found, [1.0] * len(wanted)) for found, wanted in zip(gains, targets, strict=True)])
        for name in ("R", "nDCG")
    ]
    assert recall_and_ndcg(queries, documents, targets) == pytest.approx(expected)
