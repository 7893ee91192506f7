"""Hits are read by query and by rank, and explain themselves where an index gave them."""

from __future__ import annotations

import numpy as np
import pytest

import hi2


@pytest.fixture
def batch():
    ids = np.array([["a", "b", None], ["c", None, None]], object)
    scores = np.float32([[3, 2, -np.inf], [5, -np.inf, -np.inf]])
    counts, n_scored = np.array([2, 1]), np.array([20, 10])
    groups = np.array([["x", None, None], ["y", None, None]], object)
    return hi2.Hits(ids, scores, n_scored, counts, np.array([4, 0]), np.array([True, False]), groups)


def test_the_hits_of_one_query_of_a_batch_hold_no_empty_places(batch):
    first, second = batch
    assert (first.ids.tolist(), second.ids.tolist()) == (["a", "b"], ["c"])
    assert list(first) == [("a", 3.0), ("b", 2.0)]
    assert (first.n_scored, first.counts, first.n_term_lists, first.complete) == (20, 2, 4, True)
    assert first.groups.tolist() == ["x", None]
    assert second.complete is False
    assert [batch.batched, first.batched] == [True, False]


def test_integer_ids_are_plain_integers():
    hits = hi2.Hits(np.array([7, 3]), np.float32([2, 1]), n_scored=2, counts=2)
    assert type(hits[0][0]) is int
    assert hits[-1] == (3, 1.0)
    assert len(hits) == 2


def test_hits_explain_the_query_they_belong_to(batch):
    with pytest.raises(hi2.InvalidParameter, match=r"hits\[i\]\.explain"):
        batch[0].explain(0)  # no index gave them
    explained = batch.explained_by(lambda query, id: (query, id))
    assert explained is batch
    assert explained[1].explain(0) == (1, "c")
    assert explained[0].explain() == [(0, "a"), (0, "b")]
    assert explained[0].explain(-1) == (0, "b")
    with pytest.raises(hi2.InvalidParameter, match="one of 2 hits"):
        explained[0].explain(2)
