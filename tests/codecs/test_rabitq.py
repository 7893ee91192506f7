"""RaBitQ estimates scores without bias, from a few bits per dimension."""

from __future__ import annotations

import numpy as np
import pytest

import hi2


@pytest.mark.parametrize(("bits", "share"), [(1, 0.62), (2, 0.36), (4, 0.1), (8, 0.01)])
def test_rabitq_is_unbiased_and_better_with_more_bits(bits, share):
    """Over random rotations, estimates average to the true inner product, with an error that falls with the bits."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((60, 200)).astype(np.float32)
    query = vectors[:1] + rng.standard_normal((1, 200)).astype(np.float32)
    true = (vectors @ query[0]).astype(np.float64)
    estimates = []
    for seed in range(40):
        fitted = hi2.RaBitQ(bits=bits, seed=seed).fit(vectors, threads=1)
        hits = hi2.HybridIndex.build(vectors, terms=None, clusters=hi2.KMeans(1), codec=fitted).search(query[0], k=60)
        estimates.append(hits.scores[np.argsort(hits.ids)])
    errors = np.array(estimates) - true
    length = np.linalg.norm(vectors, axis=1).mean() * np.linalg.norm(query) / np.sqrt(200)
    assert np.abs(errors).std() < share * length
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(errors.size) + 0.02 * length
    slope = (np.array(estimates).mean(0) * true).sum() / (true**2).sum()
    assert abs(slope - 1) < 0.05
