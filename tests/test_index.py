"""The facade: length, membership, ids, stored texts and payload, and how an index shows itself."""

from __future__ import annotations

import json

import pytest

import hi2


def test_len_and_membership(small, corpus):
    assert len(small) == 60
    assert corpus.ids[3] in small
    assert corpus.ids[60] not in small
    assert 3 not in small
    assert None not in small
    assert True not in small


def test_ids_are_listed_in_order_of_arrival(small, corpus):
    small.delete(corpus.ids[1])
    small.add(corpus.vectors[60:62], corpus.texts[60:62], ids=["zz", "aa"])
    assert small.ids() == [corpus.ids[0], *corpus.ids[2:60], "zz", "aa"]


def test_text_and_payload_are_stored_and_returned(small, corpus, tmp_path):
    small.add(corpus.vectors[60:61], ["über α 漢字"], ids=["u"], payload=[{"tags": ["x"], "year": 2020}])
    expected = {"id": "u", "text": "über α 漢字", "payload": {"tags": ["x"], "year": 2020}}
    assert small.get("u") == expected
    small.save(tmp_path / "a")
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.get("u") == expected
    assert opened.get([corpus.ids[7], "u"])[0] == {"id": corpus.ids[7], "text": corpus.texts[7], "payload": {"n": 7}}
    files = sorted((tmp_path / "a").rglob("stored.jsonl"))
    lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["text"] for line in lines] == [*corpus.texts[:60], "über α 漢字"]


def test_get_returns_only_the_id_when_nothing_is_stored(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5])
    assert index.get(2) == {"id": 2}
    with pytest.raises(hi2.InvalidParameter, match="'ids'"):
        index.get(9)


def test_repr_names_the_parts(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], codec=hi2.PQ(5))
    assert "50 documents" in repr(index)
    assert "PQ(subspaces=5" in repr(index)
