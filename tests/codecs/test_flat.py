"""Flat keeps every bit of a vector."""

from __future__ import annotations

import numpy as np

import hi2


def test_codes_are_the_vectors_themselves(corpus):
    codec = hi2.Flat().fit(corpus.vectors[:1], threads=1)
    codes = codec.encode(corpus.vectors)
    assert codec.code_bytes == 4 * corpus.vectors.shape[1]
    np.testing.assert_array_equal(codes.view(np.float32), corpus.vectors)


def test_nothing_is_fitted():
    codec = hi2.Flat().fit(np.zeros((1, 7), np.float32), threads=1)
    assert codec.arrays == {}
    assert codec.dim == hi2.Flat().restore(7, {}).dim == 7
    assert not codec.spec.residual
