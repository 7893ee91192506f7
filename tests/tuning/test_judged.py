"""What is relevant is given as ids or as grades by id."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.errors import InvalidParameter
from hi2.tuning.judged import read_relevant


def test_ids_have_grade_one_and_only_grades_above_zero_are_relevant():
    given = [["a", "b"], {"c": 2, "d": 0, "e": -1, "f": 0.5}, (), {"g"}, np.array(["h"])]
    assert read_relevant(given, 5) == [{"a": 1.0, "b": 1.0}, {"c": 2.0, "f": 0.5}, {}, {"g": 1.0}, {"h": 1.0}]
    assert read_relevant(np.array([[3, 4], [5, 6]]), 2) == [{3: 1.0, 4: 1.0}, {5: 1.0, 6: 1.0}]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1]], "one list of ids per query, or one mapping from ids to grades .2 queries.. Got 1"),
        ("ab", "one list of ids per query.*a single string"),
        (3, "one list of ids per query"),
        (["ab", [1]], "one list of ids per query.*'ab' in row 0"),
        ([[1], None], "Got None in row 1"),
        ([[1], [1.5]], "'relevant'"),
        ([[1], {1.5: 1}], "'relevant'"),
        ([[1], {1: "high"}], "'relevant'.*a number"),
        ([[1], {1: float("nan")}], "'relevant'.*a number"),
        ([[1], {1: True}], "'relevant'.*a number"),
    ],
)
def test_anything_else_is_refused(given, said):
    with pytest.raises(InvalidParameter, match=said):
        read_relevant(given, 2)
