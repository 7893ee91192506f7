"""Convex fusion orders documents by the weighted mean of both scores, scaled from their minimum to their maximum."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.evaluation.peers.convex_fusion import ConvexFusionFlat, ConvexFusionHNSW, combine

pytest.importorskip("bm25s", reason="needs the extra 'lab'")
pytest.importorskip("Stemmer", reason="needs the extra 'lab'")

QUESTIONS = [(3, "bread number11 engine"), (9, "river number4"), (0, "zebra")]


def formula(dense, words, w):
    """The paper's equation over some documents, as it stands there."""
    lexical = words / words.max() if words.max() > 0 else 0 * words
    return w * (dense + 1) / (dense.max() + 1) + (1 - w) * lexical


@pytest.fixture(scope="module")
def flat(things):
    return things.build(ConvexFusionFlat())


@pytest.fixture(scope="module")
def graph(things):
    return things.build(ConvexFusionHNSW())


def same_order(found, scores):
    """Whether the rows found are the best by score, up to rounding."""
    assert len(set(found.tolist())) == len(found)
    np.testing.assert_allclose(scores[found], np.sort(scores)[::-1][: len(found)], atol=1e-6)


@pytest.mark.parametrize("w", [0.1, 0.5, 0.9])
def test_all_documents_are_ordered_by_the_formula(things, flat, w):
    for row, text in QUESTIONS:
        dense = (things.vectors @ things.vectors[row]).astype(np.float64)
        scores = formula(dense, flat._words.scores(text).astype(np.float64), w)
        found = flat.search(things.vectors[row], text, 20, {"w": w})
        assert len(found) == 20
        same_order(found, scores)


@pytest.mark.parametrize("w", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("depth", [20, 60])
def test_the_union_of_both_lists_is_ordered_by_the_formula(things, graph, w, depth):
    setting = {**graph.sweep()[-1], "depth": depth, "w": w}
    for row, text in QUESTIONS:
        vector = things.vectors[row]
        near = graph._dense.search(vector, text, depth, setting)
        union = np.union1d(near, graph._words.top_rows(text, depth))
        dense = (things.vectors[union] @ vector).astype(np.float64)
        scores = np.full(len(things.texts), -np.inf)
        scores[union] = formula(dense, graph._words.scores(text)[union].astype(np.float64), w)
        found = graph.search(vector, text, 20, setting)
        assert len(found) == 20
        same_order(found, scores)


def test_a_wide_graph_and_brute_force_agree(things, flat, graph):
    setting = {**graph.sweep()[-1], "depth": 1000}
    for w in (0.2, 0.8):
        for row, text in QUESTIONS:
            found = (
                flat.search(things.vectors[row], text, 10, {"w": w}),
                graph.search(things.vectors[row], text, 10, {**setting, "w": w}),
            )
            assert found[0].tolist() == found[1].tolist()


def test_the_vectors_are_those_of_the_index(things, flat, graph):
    for peer in (flat, graph):
        np.testing.assert_array_equal(peer._vectors, things.vectors)
        assert not peer._vectors.flags.owndata


def test_weights_are_swept(flat, graph):
    weights = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
    assert {one["w"] for one in flat.sweep()} == weights
    assert {(one["depth"], one["w"]) for one in graph.sweep()} == {(d, w) for d in (100, 200, 1000) for w in weights}


def test_without_known_words_vectors_decide():
    dense = np.array([0.5, -1.0, 0.9], np.float32)
    for words in (np.zeros(3, np.float32), np.ones(3, np.float32)):
        assert np.argsort(-combine(dense, words, 0.1)).tolist() == [2, 0, 1]
