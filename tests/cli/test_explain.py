"""``hi2 explain``: in words, or as JSON."""

from __future__ import annotations

import json

from commands import run


def test_explain(index):
    assert "found at rank 1" in run("explain", index, "sourdough bread", "d2").stdout
    data = json.loads(run("explain", index, "sourdough bread", "d2", "--json").stdout)
    assert data["outcome"] == "found"
    assert "not in the index" in run("explain", index, "bread", "nobody").stdout
