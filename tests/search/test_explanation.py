"""An explanation says in words what its fields hold."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import hi2
from hi2.search.comparison import compare
from hi2.search.explanation import ClusterMatch, Explanation, TermMatch, WordScore

FOUND = Explanation(
    "a",
    "found",
    10,
    99,
    rank=3,
    rescored=True,
    n_candidates=128,
    score=1.2,
    dense=1.0,
    lexical=4.0,
    weight=0.05,
    words=(WordScore("river", 0.15), WordScore("banks", 0.04, part=True), WordScore("tree", 0.0)),
    punctuation=0.01,
    codec_score=0.9,
    refine_score=1.0,
    clusters=(ClusterMatch(5, 2, True, False),),
    terms=(TermMatch("river", 0, True, True), TermMatch("banks", 4, False, True, part=True)),
    query_terms=("river", "banks"),
    unfiled_terms=("water",),
    common_terms=("the",),
    unmatched_terms=("elephant",),
    skipped_terms=("path",),
    asked_terms=32,
)


def test_a_found_document():
    assert str(FOUND).splitlines() == [
        "'a' was found at rank 3 of 99 documents scored.",
        "- score 1.2000 = vectors 1.0000 + words 0.2000.",
        "- its words of the query add: 'river' 0.1500, part of 'banks' 0.0400, punctuation 0.0100.",
        "- it does not have: tree.",
        "- score of its vector: codec 0.9000, refine 1.0000.",
        "- its cluster 5 is number 2 for this query: opened.",
        "- its term 'river' (number 1 of the document) is in the query: opened.",
        "- its term part of 'banks' (number 5 of the document) is in the query: beyond per_doc, not counted.",
        "- it also has these, but is filed under its best terms only: water.",
        "- too common, no document is filed under: the.",
        "- filed under, but not among the best 32 terms of the query: path.",
        "- no document has: elephant.",
    ]


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        ({}, "The last hit has 2.0000: ask for a larger k (k=12 finds it)."),
        ({"larger_k": None}, "The last hit has 2.0000: ask for a larger k."),
        ({"rescored": False}, "the words of only the best 128 count: ask for a larger k (k=12 finds it)."),
        ({"rescored": False, "lexical": None}, "ask for a deeper refine or a finer codec."),
        ({"rescored": False, "n_candidates": None}, "The last hit has 2.0000: ask for a larger k (k=12 finds it)."),
    ],
)
def test_what_would_find_a_document_that_others_outscore(changed, advice):
    why = replace(FOUND, **{"outcome": "outscored", "rank": 12, "lowest_hit": 2.0, "larger_k": 12, **changed})
    first, second, *_ = str(why).splitlines()
    assert first == "'a' was scored but is not among the best 10: rank 12 of 99."
    assert second.endswith(advice)


def test_a_document_that_was_kept_out():
    why = replace(FOUND, outcome="filtered out", rank=None, missing_words=("red",), excluded_words=("b", "c"))
    assert str(why).startswith(
        "'a' was not scored: it does not have the required word 'red' and it has the excluded words 'b', 'c'."
    )
    assert "it would score 1.2000" in str(why)
    assert "cluster" not in str(why)
    assert "the filter leaves it out" in str(replace(why, missing_words=(), excluded_words=()))


def test_words_alone_say_nothing_of_lists():
    why = replace(FOUND, dense=None, n_candidates=None, codec_score=None, refine_score=None)
    assert "- score 1.2000 by words alone." in str(why)
    assert "cluster" not in str(why)
    assert "filed" not in str(why)


def test_plain_data_has_everything():
    why = replace(FOUND, comparison=compare(FOUND, replace(FOUND, id="b", rank=4, score=1.1)))
    data = json.loads(json.dumps(why.to_dict()))
    assert data["words"][1] == {"word": "banks", "score": 0.04, "part": True}
    assert data["comparison"]["other"]["id"] == "b"
    assert data["comparison"]["ahead"] == "a"
    assert "'a' is ahead of 'b' by 0.1000" in str(why)


def test_the_guide_shows_what_is_printed():
    page = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    code, shown = re.search(r"## Find out why\n\n```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    names = {"hi2": hi2}
    exec(code, names)
    assert str(names["why"]) == shown.rstrip("\n")
