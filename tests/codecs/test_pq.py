"""Product quantisation stores the nearest codewords."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle

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
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    with pytest.raises(hi2.InvalidParameter, match=match):
        spec(**keywords)
