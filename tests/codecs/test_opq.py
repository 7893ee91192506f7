"""OPQ rotates before it quantises, and the rotation lowers the error."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle


@pytest.mark.parametrize(
    ("match", "spec", "keywords"),
    [
        (r"'subspaces'", hi2.OPQ, {"subspaces": 0}),
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    with pytest.raises(hi2.InvalidParameter, match=match):
        spec(**keywords)


@pytest.fixture(scope="module")
def correlated():
    """Vectors whose variance is almost all in the first dimensions."""
    scale = 2.0 ** -np.arange(16)
    return (np.random.default_rng(0).standard_normal((3000, 16)) * scale).astype(np.float32)


def test_the_rotation_keeps_lengths_and_lowers_the_error(correlated):
    rotated, plain = (spec(subspaces=4, bits=4).fit(correlated, threads=1) for spec in (hi2.OPQ, hi2.PQ))
    rotation = rotated.arrays["rotation"].astype(np.float64)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(16), atol=1e-4)

    def error(codec):
        codes = codec.encode(correlated)
        codes = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), 4).astype(np.int64)
        decoded = oracle.pq_decode(codes, codec.arrays["codebooks"])
        turned = correlated @ codec.arrays.get("rotation", np.eye(16)).T
        return ((turned - decoded) ** 2).sum()

    assert error(rotated) < 0.7 * error(plain)


def test_nothing_is_rotated_where_every_point_has_a_codeword(correlated):
    codec = hi2.OPQ(subspaces=4, bits=4).fit(correlated[:16], threads=1)
    np.testing.assert_array_equal(codec.arrays["rotation"], np.eye(16))
    fitted = hi2.OPQ(subspaces=4, bits=4).fit(correlated[:17], threads=1)
    assert not np.array_equal(fitted.arrays["rotation"], np.eye(16))


def test_a_dimension_that_does_not_divide_is_padded(correlated):
    codec = hi2.OPQ(subspaces=5, bits=4).fit(correlated, threads=1)
    assert codec.arrays["rotation"].shape == (20, 16)
    assert codec.arrays["codebooks"].shape == (5, 16, 4)
    assert codec.code_bytes == 3
