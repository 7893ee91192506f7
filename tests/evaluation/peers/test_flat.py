"""Brute force finds the documents with the highest inner products."""

from __future__ import annotations

import numpy as np

from hi2.evaluation.peers.flat import FaissFlat


def test_brute_force_is_exact(things):
    flat = things.build(FaissFlat())
    assert flat.sweep() == [{}]
    for vector in things.vectors[:5]:
        scores = things.vectors @ vector
        found = flat.search(vector, "", 10, {})
        np.testing.assert_allclose(scores[found], np.sort(scores)[::-1][:10], atol=1e-6)
