"""RaBitQ estimates scores without bias, from a few bits per dimension."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle


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


@pytest.mark.parametrize("bits", [1, 3, 8])
@pytest.mark.parametrize("dim", [1, 8, 9, 200])
def test_a_code_is_a_plane_per_bit_and_one_float(bits, dim):
    vectors = np.random.default_rng(0).standard_normal((5, dim)).astype(np.float32)
    codec = hi2.RaBitQ(bits=bits).fit(vectors, threads=1)
    assert codec.code_bytes == codec.encode(vectors).shape[1] == bits * ((dim + 7) // 8) + 4


def test_the_mean_is_fitted_and_the_seed_determines_the_rotation():
    vectors = np.random.default_rng(0).standard_normal((50, 12)).astype(np.float32) + 5
    first, same, other = (hi2.RaBitQ(seed=seed).fit(vectors, threads=1) for seed in (1, 1, 2))
    np.testing.assert_allclose(first.arrays["middle"], vectors.mean(0), rtol=1e-6)
    assert first.arrays["signs"].shape == (hi2.RaBitQ.rounds, 12)
    np.testing.assert_array_equal(first.encode(vectors), same.encode(vectors))
    assert not np.array_equal(first.arrays["signs"], other.arrays["signs"])


def test_more_bits_decode_to_nearer_vectors():
    vectors = np.random.default_rng(2).standard_normal((40, 100)).astype(np.float32)
    errors = []
    for bits in (1, 2, 4, 8):
        codec = hi2.RaBitQ(bits=bits).fit(vectors, threads=1)
        decoded = codec.arrays["middle"] + oracle.rabitq_decode(codec.encode(vectors), bits, codec.arrays["signs"])
        errors.append(((decoded - vectors) ** 2).sum() / (vectors**2).sum())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("keywords", [{"bits": 0}, {"bits": 9}, {"bits": 1.5}, {"seed": -1}, {"seed": 2**32}])
def test_a_spec_rejects(keywords):
    with pytest.raises(hi2.InvalidParameter, match=next(iter(keywords))):
        hi2.RaBitQ(**keywords)
