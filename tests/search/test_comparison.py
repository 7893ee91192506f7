"""One document is ahead of another by its score, by its arrival, or because the other was not ranked so far."""

from __future__ import annotations

import pytest

from hi2.search.comparison import compare
from hi2.search.explanation import Explanation, WordScore


def made(id, rank, score=1.0, *, rescored=False, n_candidates=None, words=(), dense=None):
    return Explanation(
        id,
        "found",
        10,
        99,
        rank=rank,
        score=score,
        dense=dense,
        rescored=rescored,
        n_candidates=n_candidates,
        words=words,
    )


def test_differences_add_up():
    first = made("a", 1, 1.5, dense=1.0, words=(WordScore("river", 0.4), WordScore("bank", 0.1)))
    second = made("b", 2, 1.2, dense=1.1, words=(WordScore("bank", 0.1, part=True), WordScore("river", 0.0)))
    found = compare(first, second)
    assert (found.ahead, found.reason, found.other) == ("a", "score", second)
    assert (found.score, found.dense) == (pytest.approx(0.3), pytest.approx(-0.1))
    assert [(word.word, word.part) for word in found.words] == [("river", False), ("bank", True)]
    assert found.lines("a") == ["'a' is ahead of 'b' by 0.3000: vectors -0.1000, 'river' +0.4000."]
    assert compare(second, first).lines("b") == found.lines("a")


def test_equal_scores_are_ordered_by_arrival():
    found = compare(made(7, 5), made(3, 4))
    assert (found.ahead, found.reason) == (3, "arrival")
    assert "3 is ahead of 7 because it arrived first" in found.lines(7)[0]


def test_a_document_that_was_scored_to_the_end_is_ahead_of_one_that_was_not():
    candidate = made("a", 100, 0.1, rescored=True, n_candidates=128, dense=0.1)
    outside = made("b", 200, 0.9, n_candidates=128, dense=0.9)
    found = compare(outside, candidate)
    assert (found.ahead, found.reason) == ("a", "not rescored")
    first, second = found.lines("b")
    assert "'b' was not among the best candidates" in first
    assert "vectors -0.8000" in second
    both = compare(outside, made("c", 201, 0.95, n_candidates=128))
    assert (both.ahead, both.reason) == ("b", "first scores")
    assert "neither was among the best candidates" in both.lines("b")[0]


def test_a_document_that_was_not_ranked_is_behind():
    missing = Explanation("x", "no shared list", 10, 99)
    assert compare(missing, made("a", 1)).ahead == "a"
    assert compare(made("a", 1), missing).lines("a")[0] == "'a' is ahead of 'x', which was not ranked."
    nobody = compare(missing, Explanation("y", "not in the index", 10, 99))
    assert nobody.ahead is None
    assert nobody.lines("x")[0] == "Neither 'x' nor 'y' was ranked."
    assert "y' is not in the index" in nobody.lines("x")[1]
