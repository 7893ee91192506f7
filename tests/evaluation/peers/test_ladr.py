"""LADR adds the neighbours of BM25's best documents, and stops when the best no longer change."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.ladr import Ladr


@pytest.fixture(scope="module")
def peer(things):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    return things.build(Ladr())


def test_a_document_is_not_its_own_neighbour(things, peer):
    neighbours = peer._neighbours
    assert neighbours.shape == (400, 64)
    assert not (neighbours == [[row] for row in range(400)]).any()


def test_neighbours_of_the_seeds_are_candidates(things, peer):
    vector = things.vectors[0]
    seeds = peer.top_rows("number8 number16", 2)
    expected = {*seeds.tolist(), *peer._neighbours[seeds, :3].ravel().tolist()}
    setting = {"seeds": 2, "neighbours": 3, "depth": 0}
    assert set(peer._candidates(vector, "number8 number16", setting).tolist()) == expected
    assert peer.count_scored(vector, "number8 number16", 10, setting) == len(expected)


def test_adaptive_search_ends_when_the_best_have_been_expanded(things, peer):
    vector, setting = things.vectors[0], {"seeds": 2, "neighbours": 16, "depth": 5}
    rows = peer._candidates(vector, "number8", setting)
    best = peer.rescore(rows, vector, 5)
    assert set(peer._neighbours[best, :16].ravel().tolist()) <= set(rows.tolist())
    assert len(rows) > peer.count_scored(vector, "number8", 5, {**setting, "depth": 0})
