"""Hits read their documents from the index as it was when they were found."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hi2

TEXTS = ["a red apple", "the green pear", "an old ship"]
PAYLOAD = [{"kind": "fruit"}, {"kind": "fruit", "price": 2}, {}]


@pytest.fixture
def index():
    return hi2.HybridIndex.build(np.eye(3, 4), TEXTS, ids=["apple", "pear", "ship"], payload=PAYLOAD)


def test_hits_are_documents(index):
    found = {hit.id: (hit.text, hit.payload) for hit in index.search(np.eye(4)[1], "pears", k=3)}
    assert found == {id: (text, own) for id, text, own in zip(["apple", "pear", "ship"], TEXTS, PAYLOAD, strict=True)}
    assert index.search(np.eye(4)[1], "pears", k=1)[0].snippet == "the green **pear**"
    assert index.search(None, "ships", k=1).to_dicts()[0]["text"] == "an old ship"


def test_hits_of_a_batch_know_their_query(index):
    batch = index.search(np.eye(4)[:2], ["apples", "green"], k=1)
    assert [[hit.snippet for hit in own] for own in batch] == [["a red **apple**"], ["the **green** pear"]]
    assert batch[-1][0].id == "pear"
    paged = index.search(np.eye(4)[:2], ["apples", "green"], k=1, min_score=-9.0)
    assert [own[0].snippet for own in paged] == ["a red **apple**", "the **green** pear"]


def test_hits_keep_what_was_deleted_or_replaced_since(index):
    hits = index.search(np.eye(4)[0], "apple", k=2)
    index.delete("apple")
    index.upsert(np.eye(4)[:1], ["a blue apple"], ids=["pear"])
    assert {hit.id: hit.text for hit in hits}["apple"] == "a red apple"
    assert "a blue apple" not in [own["text"] for own in hits.to_dicts()]


def test_an_index_that_keeps_no_text_has_hits_without(corpus):
    index = hi2.HybridIndex.build(np.eye(3, 4), TEXTS, keep_text=False)
    hit = index.search(np.eye(4)[1], "pears", k=1)[0]
    assert (hit.text, hit.payload, hit.snippet) == (None, {}, None)
    vectors = hi2.HybridIndex.build(np.eye(3, 4), terms=None)
    assert vectors.search(np.eye(4)[1], k=1)[0].text is None


def test_pickled_hits_carry_text_and_snippets(index):
    for hits in (index.search(np.eye(4)[1], "pears", k=2), index.search(np.eye(4)[:2], ["apples", "green"], k=2)):
        again = pickle.loads(pickle.dumps(hits))
        assert again.to_dicts() == hits.to_dicts()
        one, other = (again[0], hits[0]) if not hits.batched else (again[0][0], hits[0][0])
        assert one.snippet == other.snippet
        assert "**" in one.snippet
