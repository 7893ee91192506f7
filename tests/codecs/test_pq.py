"""Product quantisation stores the nearest codewords."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle
from hi2.codecs.pq import pad

SPECS = [
    hi2.PQ(subspaces=4),
    hi2.PQ(subspaces=5, bits=4),
    hi2.PQ(subspaces=6, bits=4, residual=True),
    hi2.OPQ(subspaces=4),
    hi2.OPQ(subspaces=7, residual=True),
    hi2.OPQ(subspaces=8, bits=4),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_codes_are_the_nearest_codewords(spec, corpus):
    fitted = spec.fit(corpus.vectors, threads=1)
    vectors = corpus.vectors[:200].astype(np.float64)
    rotation = fitted.arrays.get("rotation")
    books = fitted.arrays["codebooks"]
    padded_dim = books.shape[0] * books.shape[2]
    rotated = vectors @ rotation.T if rotation is not None else np.pad(vectors, ((0, 0), (0, padded_dim - fitted.dim)))
    best = oracle.pq_decode(oracle.pq_encode(rotated, books), books)
    ours = fitted.encode(corpus.vectors[:200])
    codewords = ours.astype(np.int64)
    if fitted.spec.bits == 4:
        codewords = np.stack([ours & 15, ours >> 4], axis=2).reshape(len(ours), -1)[:, : len(books)].astype(np.int64)
    error, least = ((rotated - oracle.pq_decode(codewords, books)) ** 2).sum(1), ((rotated - best) ** 2).sum(1)
    np.testing.assert_allclose(error, least, atol=1e-5)


@pytest.mark.parametrize(
    ("match", "spec", "keywords"),
    [
        (r"'bits'.*4 or 8.*Got 6", hi2.PQ, {"bits": 6}),
        (r"'subspaces'", hi2.PQ, {"subspaces": 10**30}),
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    with pytest.raises(hi2.InvalidParameter, match=match):
        spec(**keywords)


@pytest.mark.parametrize(("dim", "expected"), [(1, 1), (7, 1), (16, 2), (384, 48)])
def test_without_a_number_eight_dimensions_share_a_codeword(dim, expected):
    assert hi2.PQ().resolved(dim).subspaces == expected
    assert hi2.PQ(subspaces=1).resolved(dim).subspaces == 1
    with pytest.raises(hi2.InvalidParameter, match=f"'subspaces'.*from 1 to {dim}"):
        hi2.PQ(subspaces=dim + 1).resolved(dim)


@pytest.mark.parametrize(("subspaces", "bits", "expected"), [(5, 8, 5), (5, 4, 3), (6, 4, 3), (1, 4, 1)])
def test_a_code_takes_bits_times_subspaces(subspaces, bits, expected):
    vectors = np.random.default_rng(0).standard_normal((20, 9)).astype(np.float32)
    assert hi2.PQ(subspaces=subspaces, bits=bits).fit(vectors, threads=1).code_bytes == expected


@pytest.mark.parametrize("bits", [4, 8])
def test_no_more_points_than_codewords_are_kept_exactly(bits):
    vectors = np.random.default_rng(1).standard_normal((1 << bits, 6)).astype(np.float32)
    codec = hi2.PQ(subspaces=4, bits=bits).fit(vectors, threads=1)  # 6 dimensions are padded to 8
    books = codec.arrays["codebooks"]
    assert books.shape == (4, 1 << bits, 2)
    codes = codec.encode(vectors)
    if bits == 4:
        codes = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), 4)
    decoded = oracle.pq_decode(codes.astype(np.int64), books)
    np.testing.assert_array_equal(decoded[:, :6], vectors)
    assert not decoded[:, 6:].any()


def test_vectors_are_padded_with_zeros_to_a_multiple():
    vectors = np.ones((2, 5), np.float32)
    assert pad(vectors, 5) is vectors
    assert pad(vectors, 4).tolist() == [[1] * 5 + [0] * 3] * 2
