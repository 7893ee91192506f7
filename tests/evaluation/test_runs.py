"""Hits are exchanged as TREC runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.evaluation.runs import read_run, write_run


def test_runs_are_written_and_read(tmp_path):
    path = tmp_path / "run.txt"
    write_run(path, "mine", {"q1": ["b", "a"], "q2": ["c"]})
    assert read_run(path) == {"q1": ["b", "a"], "q2": ["c"]}
    path.write_text("q1 Q0 a 1 0.5 x\nq1 Q0 b 2 0.9 x\n")
    assert read_run(path) == {"q1": ["b", "a"]}
    for text, message in [
        ("q1 Q0 a 1 0.5 x\nq1 Q0 a 2 0.4 x\n", "line 2: the document 'a' is there twice"),
        ("q1 Q0 a 1 high x\n", "line 1: expected query"),
        ("q1 a\n", "line 1: expected query"),
        ("", "no line of a run"),
    ]:
        path.write_text(text)
        with pytest.raises(hi2.InvalidParameter, match=message):
            read_run(path)


WORD = st.text("abcdefé0123_-", min_size=1, max_size=5)


@given(st.dictionaries(WORD, st.lists(WORD, min_size=1, max_size=30, unique=True), min_size=1, max_size=4))
def test_the_order_of_any_run_survives(tmp_path_factory, runs):
    path = tmp_path_factory.mktemp("run") / "run.txt"
    write_run(path, "mine", runs)
    assert read_run(path) == runs
    assert [file.name for file in path.parent.iterdir()] == ["run.txt"]
