"""Documents are judged by grades, or by the answers they contain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.evaluation.judgements import Answers, Grades, answer_tokens, contains_answer, read_grades


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("U.S.", ["u", ".", "s", "."]),
        ("Beyonce\u0301", ["beyonce\u0301"]),
        ("Beyonc\u00e9", ["beyonce\u0301"]),
        ("a\u00a0b\u200bc", ["a", "b", "c"]),
        ("x² 日本語", ["x²", "日本語"]),
        ("", []),
    ],
)
def test_answers_are_compared_as_in_dpr(text, tokens):
    assert answer_tokens(text) == tokens


def test_grades_above_zero_are_relevant():
    judged = Grades({"q1": {"a": 2, "b": 0, "c": -1, "d": 3}, "q2": {"a": 0}})
    assert judged.queries == ["q1"]
    assert judged.gains("q1", ["c", "a", "x", "d"]) == [0, 2, 0, 3]
    assert judged.ideal("q1") == [3, 2]
    assert judged.relevant("q1") == ["a", "d"]


def test_the_first_passage_with_an_answer_counts():
    passages = {"1": "Paris is the capital of France.", "2": "A comparison.", "3": "in PARIS, France"}
    judged = Answers({"q1": ["Paris"], "q2": [""], "q3": ["paris , france", "Lyon"]}, passages)
    assert judged.queries == ["q1", "q3"]
    assert judged.gains("q1", ["2", "3", "1"]) == [0, 1, 0]
    assert judged.gains("q3", ["1", "2", "3"]) == [0, 0, 1]
    assert judged.ideal("q1") == [1]


@given(st.lists(st.sampled_from(["a", "b", "é", "(", "1"]), max_size=8), st.integers(0, 8), st.integers(1, 3))
def test_a_passage_contains_every_run_of_its_tokens(tokens, begin, n):
    run = tokens[begin : begin + n]
    assert contains_answer(" ".join(tokens), [answer_tokens(" ".join(run))]) == bool(run)


@pytest.mark.parametrize(
    "text", ["query-id\tcorpus-id\tscore\nq1\td1\t2\n\nq1\td2\t0\n", "q1 0 d1 2\nq1 0 d2 0\n", "q1 d1 2\nq1 d2 0\n"]
)
def test_grades_are_read_in_both_formats(tmp_path, text):
    (tmp_path / "qrels").write_text(text)
    judged = read_grades(tmp_path / "qrels", queries={"q1"}, documents={"d1", "d2"})
    assert judged.gains("q1", ["d1", "d2"]) == [2, 0]
    with pytest.raises(hi2.InvalidParameter, match="the query 'q1' does not exist"):
        read_grades(tmp_path / "qrels", queries={"q2"}, documents=None)
