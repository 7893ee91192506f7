"""Hits become JSON with what was asked for, whatever a payload holds."""

from __future__ import annotations

import json

import pytest

import hi2
from hi2.server.answers import Wanted, answers, to_json


@pytest.mark.parametrize("value", [{"a": [1, 2.5, None, "ü"]}, {"n": 2**70}, {"nested": {"x": [{"y": 1}]}}, {"e": ""}])
def test_payloads_survive(value):
    assert json.loads(to_json(value)) == value


def test_what_was_not_asked_for_is_left_out(index_path):
    hits = hi2.HybridIndex.open(index_path).search("fruit", k=2)
    bare = json.loads(answers(hits, Wanted(text=False, payload=False)))["hits"]
    assert set(bare[0]) == {"id", "score", "dense", "lexical"}
    whole = json.loads(answers(hits, Wanted(snippet=True, explanation=True)))["hits"]
    assert set(whole[0]) == {"id", "score", "dense", "lexical", "text", "payload", "snippet", "explanation"}


def test_words_alone_have_no_dense_part(index_path):
    hits = hi2.HybridIndex.open(index_path).search(None, "fruit", k=2)
    first = json.loads(answers(hits, Wanted()))["hits"][0]
    assert first["dense"] is None
    assert first["lexical"] == first["score"]
