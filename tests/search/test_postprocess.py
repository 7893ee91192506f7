"""Offset, minimum score, groups and reranking each equal a plain search that is processed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.errors import Error, InvalidParameter


def test_pages_join_to_one_long_result(documents, index):
    vectors, texts, _ = documents
    whole = index.search(vectors[:3], texts[:3], k=30)
    pages = [index.search(vectors[:3], texts[:3], k=10, offset=at) for at in (0, 10, 20)]
    np.testing.assert_array_equal(np.concatenate([page.ids for page in pages], axis=1), whole.ids)
    np.testing.assert_array_equal(np.concatenate([page.scores for page in pages], axis=1), whole.scores)
    past = index.search(vectors[0], texts[0], k=10, offset=10_000)
    assert len(past) == 0


def test_hits_below_the_minimum_score_are_left_out(documents, index):
    vectors, texts, _ = documents
    whole = index.search(vectors[0], texts[0], k=50)
    least = float(whole.scores[17])
    found = index.search(vectors[0], texts[0], k=50, min_score=least)
    assert found.ids.tolist() == whole.ids[whole.scores >= least].tolist()
    batch = index.search(vectors[:2], texts[:2], k=50, min_score=least)
    assert batch.counts[0] == found.counts == 18
    assert batch.ids[0, 18:].tolist() == [-1] * 32


def test_grouping_returns_the_best_hit_of_each_group(documents, index):
    vectors, texts, payload = documents
    whole = index.search(vectors[4], texts[4], k=len(texts), clusters=1000, lexical=0)
    best: dict[object, int] = {}
    for id, _ in whole:
        best.setdefault(payload[id]["author"], id)
    found = index.search(vectors[4], texts[4], k=35, clusters=1000, lexical=0, group_by="author")
    assert found.ids.tolist() == list(best.values())[:35]
    assert found.groups.tolist() == list(best)[:35]
    assert None in best  # documents without an author form one group
    years = index.search(vectors[:2], texts[:2], k=10, clusters=1000, group_by="year")
    assert years.counts.tolist() == [3, 3]
    assert {type(year) for year in years[0].groups} == {int}


def test_a_callable_or_a_cross_encoder_reranks_the_hits(documents, index):
    vectors, texts, _ = documents

    def longest(query, found):
        assert query == texts[9]
        return [len(text) + int(text.split()[-1]) / 1000 for text in found]

    class CrossEncoder:
        def predict(self, pairs):
            return np.array([longest(*pair) for pair in ((query, [text]) for query, text in pairs)])[:, 0]

    plain = index.search(vectors[9], texts[9], k=40)
    expected = sorted(plain.ids.tolist(), key=lambda id: -longest(texts[9], [texts[id]])[0])[:5]
    for rerank in (longest, CrossEncoder()):
        found = index.search(vectors[9], texts[9], k=5, rerank=rerank, rerank_depth=40)
        assert found.ids.tolist() == expected
        assert found.scores.tolist() == pytest.approx([longest(texts[9], [texts[id]])[0] for id in expected])


def failing(query, texts):
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"offset": -1}, InvalidParameter, "'offset'"),
        ({"min_score": "high"}, InvalidParameter, "'min_score'"),
        ({"group_by": "planet"}, InvalidParameter, r"a column of the payload \(author, tags, year\)"),
        ({"group_by": "tags"}, InvalidParameter, "one value per document"),
        ({"group_by": 3}, InvalidParameter, "the name of a payload column"),
        ({"rerank": 3}, InvalidParameter, "a callable"),
        ({"rerank_depth": 3}, InvalidParameter, "left out without rerank"),
        ({"rerank": failing}, Error, "'rerank' callable failed: RuntimeError: no model"),
        ({"rerank": lambda query, texts: [1.0]}, InvalidParameter, r"one score per text \(100\). Got 1"),
        ({"rerank": lambda query, texts: [float("nan")] * len(texts)}, InvalidParameter, "Got NaN"),
        ({"rerank": lambda query, texts: ["a"] * len(texts)}, Error, "failed: ValueError"),
    ],
)
def test_invalid_arguments_are_rejected(documents, index, given, error, said):
    with pytest.raises(error, match=said):
        index.search(documents[0][0], documents[1][0], **given)


def test_reranking_needs_texts(documents, index):
    with pytest.raises(InvalidParameter, match="a query's text"):
        index.search(documents[0][0], rerank=lambda query, texts: [0.0] * len(texts))
    bare = hi2.HybridIndex.build(documents[0], documents[1], keep_text=False, progress=False)
    with pytest.raises(InvalidParameter, match="keep_text=True"):
        bare.search(documents[0][0], documents[1][0], rerank=lambda query, texts: [0.0] * len(texts))
