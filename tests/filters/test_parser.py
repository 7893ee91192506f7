"""A filter's text is an expression or an error that points at the place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.errors import InvalidParameter
from hi2.filters.parser import MAX_LENGTH, parse


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == 1 or b == 2 and not c == 3", "(a == 1 or (b == 2 and not c == 3))"),
        ("(a == 1 or b == 2) and c == 3", "((a == 1 or b == 2) and c == 3)"),
        ("not not a", "not not a"),
        ("A = 1 AND b IN (1, 2,)", "(A == 1 and b in (1, 2))"),
        ("a not in ('x')", "not a in ('x')"),
        ("'x' in tags", "tags contains 'x'"),
        ('a == "it\'s"', r"a == 'it\'s'"),
        ("a == -1.5e2", "a == -150.0"),
        ("a == false and b == true", "(a == false and b)"),
        ("a.b.c exists", "a.b.c exists"),
        ("`a b` contains 'x'", "`a b` contains 'x'"),
        ("jahr >= 3 and größe < 5", "(jahr >= 3 and größe < 5)"),
    ],
)
def test_and_binds_more_than_or_and_not_more_than_and(text, expected):
    assert str(parse(text)) == expected


def test_an_error_marks_the_place_in_the_text():
    with pytest.raises(InvalidParameter) as caught:
        parse("year >= 2020 and\nlang ==")
    *_, line, mark = str(caught.value).split("\n")
    assert line == "  year >= 2020 and lang =="
    assert mark.index("^") == len(line)


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(InvalidParameter, match=r"at most 100,000 characters\. Got 100,001"):
        parse("a" * (MAX_LENGTH + 1))


def test_an_integer_stays_an_integer_whatever_its_size():
    assert parse("a == 9007199254740993").value == 2**53 + 1
    assert isinstance(parse("a == 1.0").value, float)
