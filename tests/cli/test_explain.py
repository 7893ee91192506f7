"""``hi2 explain``: in words, or as JSON."""

from __future__ import annotations

import json

from commands import run


def test_explain(index):
    shown = run("explain", index, "sourdough bread", "d2").stdout
    assert "found at rank 1" in shown
    assert "'sourdough' 0." in shown
    data = json.loads(run("explain", index, "sourdough bread", "d2", "--json").stdout)
    assert data["outcome"] == "found"
    assert {word["word"] for word in data["words"]} == {"sourdough", "bread"}
    assert "not in the index" in run("explain", index, "bread", "nobody").stdout
    assert json.loads(run("explain", index, "bread", "d2", "--lexical", "0", "--json").stdout)["words"] == []


def test_the_order_of_two_documents(index):
    assert "'d2' is ahead of 'd1' by" in run("explain", index, "sourdough bread", "d1", "--against", "d2").stdout


def test_signed_words(index):
    shown = run("explain", index, "sourdough -bread", "d2", "--syntax").stdout
    assert "it has the excluded word 'bread'" in shown
    given = run("explain", index, "sourdough -bread", "d2", "--syntax", "--encoder", "static").stdout
    assert given == shown
