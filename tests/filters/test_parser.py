"""A filter's text is an expression or an error that points at the place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.errors import InvalidParameter
from hi2.filters.parser import parse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("year >", r"a number, a quoted string, true or false at character 7. Got the end"),
        ("lang == 'x", r"a closing quote at character 9"),
        ("(year > 1", r"a closing bracket at character 10"),
        ("year >= 2020 andx", r"and, or, or the end at character 14. Got 'andx'"),
        ("year in 3", r"an opening bracket at character 9"),
        ("year in (3 4)", r"a comma or a closing bracket at character 12"),
        ("3 < year", r"a comparison begins with its column"),
        ("; drop table", r"a column, a value or an operator at character 1"),
        ("", r"a column at character 1. Got the end"),
        ("not " * 200 + "draft", r"at most 100"),
        ("(" * 5000, r"at most 100"),
    ],
)
def test_an_invalid_filter_string_is_reported_with_its_position(text, said):
    with pytest.raises(InvalidParameter, match=said):
        parse(text)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40) | st.text("()'\"`=<>!andornotin, 0123.yearlang\\-", max_size=40))
def test_any_string_is_an_expression_or_a_clear_error(text):
    try:
        expression = parse(text)
    except InvalidParameter as error:
        said = str(error)
    else:
        said = "character"
        assert str(parse(str(expression))) == str(expression)
    assert "character" in said
