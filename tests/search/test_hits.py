"""Rows become hits by id; places that nothing fills are marked."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.search.hits import make_hits


def test_unfilled_places_hold_no_id_and_minus_infinity(corpus):
    texts = hi2.HybridIndex.build(corpus.vectors[:3], corpus.texts[:3], ids=["a", "b", "c"])
    hits = texts.search(corpus.vectors[:2], k=5)
    assert hits.ids.shape == (2, 5)
    assert hits.ids[:, 3:].tolist() == [[None, None]] * 2
    assert np.isneginf(hits.scores[:, 3:]).all()
    numbers = hi2.HybridIndex.build(corpus.vectors[:3], corpus.texts[:3])
    assert numbers.search(corpus.vectors[:2], k=5).ids[:, 3:].tolist() == [[-1, -1]] * 2


@pytest.mark.parametrize("ids", [["a", "b", "ü"], [7, 8, 2**40]])
def test_hits_carry_the_ids_of_their_rows(ids):
    """Rows of two segments, of which one was added later."""
    index = hi2.HybridIndex.build(np.eye(2, 4), terms=None, clusters=hi2.KMeans(1), ids=ids[:2])
    index.add(np.eye(4)[2:3], ids=ids[2:])
    snapshot = index._index.state.snapshot
    found = [
        np.array([[1, 0, 0], [0, 0, 0]]),
        np.array([[0, 1, 0], [1, 0, 0]]),
        np.float32([[3, 2, 1], [5, -np.inf, -np.inf]]),
        np.array([3, 1]),
        np.array([30, 10]),
        np.array([2, 0]),
        np.zeros((0, 0), np.float32),
        np.zeros((0, 0), np.float32),
    ]
    hits = make_hits(snapshot, found, k=4, single=False)
    nothing = None if isinstance(ids[0], str) else -1
    assert hits.ids.tolist() == [[ids[2], ids[1], ids[0], nothing], [ids[1], nothing, nothing, nothing]]
    assert hits.scores[0].tolist() == [3, 2, 1, -np.inf]
    one = make_hits(snapshot, [part[:1] for part in found], k=4, single=True)
    assert one.ids.tolist() == [ids[2], ids[1], ids[0]]
    assert one.ids.dtype == (object if isinstance(ids[0], str) else np.int64)
    assert (one.n_scored, one.counts, one.n_term_lists) == (30, 3, 2)
    assert hits.lexical is one.lexical is None
    assert (hits.dense is hits.scores, one.dense is one.scores) == (True, True)  # vectors alone rank


def test_hits_carry_the_parts_of_their_scores(small):
    snapshot = small._index.state.snapshot
    scores, dense, lexical = np.float32([[[3, 2], [5, -np.inf]], [[1, 1.5], [2, 0]], [[2, 0.5], [3, 0]]])
    numbers = np.array([[0, 1], [2, 0]])
    found = [0 * numbers, numbers, scores, np.array([2, 1]), np.array([9, 9]), np.array([1, 1]), dense, lexical]
    hits = make_hits(snapshot, found, k=3, single=False)
    assert hits.dense.tolist() == [[1, 1.5, -np.inf], [2, 0, -np.inf]]
    assert hits.lexical.tolist() == [[2, 0.5, 0], [3, 0, 0]]
    assert (hits[1].dense.tolist(), hits[1].lexical.tolist()) == ([2], [3])
    one = make_hits(snapshot, [part[:1] for part in found], k=3, single=True)
    assert (one.dense.tolist(), one.lexical.tolist()) == ([1, 1.5], [2, 0.5])
