"""Rows become hits by id; places that nothing fills are marked."""

from __future__ import annotations

import numpy as np

import hi2


def test_unfilled_places_hold_no_id_and_minus_infinity(corpus):
    texts = hi2.HybridIndex.build(corpus.vectors[:3], corpus.texts[:3], ids=["a", "b", "c"])
    hits = texts.search(corpus.vectors[:2], k=5)
    assert hits.ids.shape == (2, 5)
    assert hits.ids[:, 3:].tolist() == [[None, None]] * 2
    assert np.isneginf(hits.scores[:, 3:]).all()
    numbers = hi2.HybridIndex.build(corpus.vectors[:3], corpus.texts[:3])
    assert numbers.search(corpus.vectors[:2], k=5).ids[:, 3:].tolist() == [[-1, -1]] * 2
