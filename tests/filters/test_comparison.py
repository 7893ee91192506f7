"""Numbers, strings, booleans and tags each compare as plain Python does; other comparisons are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hi2.errors import InvalidParameter
from hi2.filters.columns import Columns
from hi2.filters.parser import parse
from payloads import payload_of


@pytest.fixture(scope="module")
def columns():
    lines = [json.dumps({"payload": payload_of(i)}, default=str).encode() for i in range(100)]
    return Columns.of_lines(lines, np.arange(100))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("year >= 'a'", r"comparison of 'year' with numbers"),
        ("lang == 3", r"comparison of 'lang' with strings"),
        ("year == true", r"comparison of 'year' with numbers"),
        ("tags > 'a'", r"'tags' holds tags"),
        ("draft > false", r"'draft' \(true or false\) knows"),
        ("mixed == 1", r"columns of one type"),
    ],
)
def test_a_comparison_that_a_column_does_not_have_is_refused(columns, text, said):
    with pytest.raises(InvalidParameter, match=said):
        parse(text).flags(columns)
