"""A filter's text is an expression or an error that points at the place."""

from __future__ import annotations

import gc
import math
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.errors import InvalidParameter
from hi2.filters.expression import MAX_DEPTH, column
from hi2.filters.parser import MAX_LENGTH, _Parser, parse
from work import instructions


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


def same(one, other):
    """Whether two expressions are the same, node by node, with values of the same type."""
    if type(one) is not type(other):
        return False
    if not one.parts:
        return (one.name, one.op, repr(one.value)) == (other.name, other.op, repr(other.value))
    return len(one.parts) == len(other.parts) and all(map(same, one.parts, other.parts))


LITERALS = (
    st.integers()
    | st.integers(-(10**320), 10**320)
    | st.sampled_from([2**63 - 1, 2**63, -(2**63), 2**1023, 2**1024, -(2**1024), 10**5000, -(10**5000)])
    | st.floats(allow_nan=False)
    | st.text()
    | st.text("'\"\\` ")
    | st.booleans()
)
NAMES = st.text(st.characters(exclude_characters="`"), min_size=1) | st.sampled_from(["not", "True", "a.b", "_", "1"])


@settings(max_examples=300, deadline=None)
@given(NAMES, LITERALS, st.lists(LITERALS, max_size=4))
def test_the_text_of_any_comparison_reads_back_as_the_same_one(name, value, values):
    own = column(name)
    for made in (own == value, own != value, own < value, own.contains(value), own.isin(values), own.exists()):
        assert same(parse(str(made)), made)
        assert same(parse(str(~made & (own >= value) | made)), ~made & (own >= value) | made)


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1" + "0" * 309, "-" + "9" * 6000, "1" + "0" * 99_000])
def test_a_number_beyond_all_others_is_infinite_and_reads_back(text):
    expression = parse(f"a < {text}")
    assert math.isinf(expression.value)
    assert str(expression) == ("a < -1e999" if text.startswith("-") else "a < 1e999")
    assert same(parse(str(expression)), expression)


@pytest.mark.parametrize(
    "text",
    [
        "a or " + "not " * (MAX_DEPTH - 1) + "b",
        "a or b and " + "(c or d and " * 60 + "e" + ")" * 60,
        "(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1),
        "not " * (MAX_DEPTH - 1) + "a not in ('x')",
    ],
)
def test_what_is_read_is_never_too_deep_to_be_read_again(text):
    try:
        expression = parse(text)
    except InvalidParameter as error:
        said = str(error)
    else:
        said = "at most 100 brackets"
        assert same(parse(str(expression)), expression)
    assert "at most 100 brackets" in said


def test_reading_and_rendering_take_work_in_proportion_to_the_text():
    texts = (" or ".join(["a == 1"] * n) for n in (100, 800))
    few, many = (instructions(lambda text=text: str(_Parser(text).whole())) for text in texts)
    assert many < 9 * few
    long = " or ".join(["a == 1"] * 9_600)
    assert MAX_LENGTH * 0.9 < len(long) < MAX_LENGTH
    assert len(parse(long).parts) == 9_600


@pytest.mark.parametrize("text", ["a == `true`", "a == `false`", "a not `in` (1)", "a `not` in (1)", "a in (`true`)"])
def test_a_quoted_name_is_never_a_word(text):
    with pytest.raises(InvalidParameter):
        parse(text)


def test_few_long_filters_are_kept():
    short, long = "a == 1", " or ".join(["a == 1"] * 2_000)
    assert parse(short) is parse(short)
    assert parse(long) is parse(long)
    first = weakref.ref(parse(long))
    for number in range(10):
        parse(f"{long} or b == {number}")
    gc.collect()
    assert first() is None


def test_a_list_without_values_reads_back():
    assert same(parse("a in ()"), column("a").isin([]))
