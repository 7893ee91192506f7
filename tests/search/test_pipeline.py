"""The stages of a search fit together: profiles, filters, adaptive search and explanations."""

from __future__ import annotations

import pytest

import hi2
from hi2.errors import InvalidParameter


def test_adaptive_and_budget_reject_bad_values_and_filters(documents, index):
    filtered = {"filter": [3]}
    for given in ({"adaptive": -0.1}, {"adaptive": "all"}, {"adaptive": 0.1, **filtered}, {"budget": 3, **filtered}):
        with pytest.raises(hi2.InvalidParameter, match=r"'(adaptive|budget)'"):
            index.search(documents[0][0], **given)


def test_hits_can_be_explained(documents, index):
    vectors, texts, _ = documents
    hits = index.search(vectors[9], texts[9], k=5)
    why = hits.explain(1)
    assert why.id == hits.ids[1]
    assert why.rank == 2
    assert str(why) == str(index.explain(vectors[9], texts[9], id=int(hits.ids[1]), k=5))
    assert [own.rank for own in hits.explain()] == [1, 2, 3, 4, 5]
    batch = index.search(vectors[:4], texts[:4], k=5)
    assert batch[3].explain(0).id == batch.ids[3, 0]
    with pytest.raises(InvalidParameter, match="hits of one query"):
        batch.explain()
    with pytest.raises(InvalidParameter, match="one of 5 hits"):
        hits.explain(5)
