"""Numbers, strings, booleans and tags each compare as plain Python does; other comparisons are refused."""

from __future__ import annotations

import json
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.errors import InvalidParameter
from hi2.filters.columns import Columns
from hi2.filters.comparison import compare, compare_any
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
        ("mixed == 1", r"'mixed' has several types"),
    ],
)
def test_a_comparison_that_a_column_does_not_have_is_refused(columns, text, said):
    with pytest.raises(InvalidParameter, match=said):
        parse(text).flags(columns)


OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KINDS = {
    "int": st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-3, 3),
    "float": st.floats(-(2.0**62), 2.0**62) | st.sampled_from([0.0, 0.5, -1.0]),
    "str": st.text(max_size=2),
}


def column_of(values):
    lines = [json.dumps({"payload": {"a": value}}).encode() for value in values]
    return Columns.of_lines(lines, np.arange(len(values))).by_name["a"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_numbers_and_strings_compare_as_in_python(kind, data):
    values = [*data.draw(st.lists(st.none() | KINDS[kind], max_size=8)), data.draw(KINDS[kind])]
    column = column_of(values)
    asked = data.draw(st.sampled_from([value for value in values if value is not None]) | KINDS[kind])
    for op, rule in OPERATORS.items():
        expected = [value is not None and rule(value, asked) for value in values]
        assert compare(column, op, asked, "here").tolist() == expected, op
    several = [asked, *data.draw(st.lists(KINDS[kind], max_size=3))]
    assert compare_any(column, several, "here").tolist() == [value is not None and value in several for value in values]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("xyz"), max_size=3), min_size=1, max_size=8), st.sampled_from("wxyz"))
def test_tags_contain_one_or_any(rows, tag):
    column = column_of(rows)
    assert compare(column, "contains", tag, "here").tolist() == [tag in tags for tags in rows]
    expected = [tag in tags or "x" in tags for tags in rows]
    assert compare_any(column, [tag, "x"], "here").tolist() == expected


def test_booleans_are_equal_or_not():
    column = column_of([True, False, None])
    assert compare(column, "==", True, "here").tolist() == [True, False, False]
    assert compare(column, "!=", True, "here").tolist() == [False, True, False]
    assert compare_any(column, [True, False], "here").tolist() == [True, True, False]


def test_numbers_beyond_64_bits_compare_by_size():
    column = column_of([-(2**62), 0, 2**62])
    for value, below in ((2**63, True), (10**400, True), (-(2**63) - 1, False), (-(10**400), False)):
        assert compare(column, "<", value, "here").tolist() == [below] * 3
        assert compare(column, ">=", value, "here").tolist() == [not below] * 3
    assert compare_any(column, [2**63, -(2**63) - 1, 0], "here").tolist() == [False, True, False]


def test_no_values_match_nothing():
    for values in ([1], ["a"], [True], [["t"]]):
        assert compare_any(column_of(values), [], "here").tolist() == [False]


def test_any_of_several_numbers_may_be_larger_than_64_bits():
    rows = [{"whole": 1, "real": 1e19}, {"whole": 2**62, "real": 0.5}, {"whole": -5, "real": -1e300}]
    columns = Columns.of_lines([json.dumps({"payload": row}).encode() for row in rows], np.arange(len(rows)))
    for text, expected in [
        ("real in (1e19, 3)", [True, False, False]),
        (f"real in (-1e300, {10**309})", [False, False, True]),
        (f"whole in ({10**309}, {2**62}, 1.5)", [False, True, False]),
        ("whole in (1e300, -5.0)", [False, False, True]),
    ]:
        assert parse(text).flags(columns).tolist() == expected, text


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1) | st.sampled_from([2**53, 2**53 + 1, 2**63 - 1]), min_size=1),
    st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from([float(2**53), float(2**63), -float(2**63), 2**63 - 1, -(2**63), 2**1023, 10**400, -(10**309)]),
)
def test_a_column_of_integers_compares_exactly_with_any_number(values, asked):
    column = column_of(values)
    for op, rule in OPERATORS.items():
        assert compare(column, op, asked, "here").tolist() == [rule(value, asked) for value in values], op
    assert compare_any(column, [asked, 0.5], "here").tolist() == [value == asked for value in values]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_column_of_floats_compares_with_numbers_of_any_size(sign):
    largest = 1.7976931348623157e308
    values = [0.5, float(2**63), 1e305, largest]
    column = column_of([sign * value for value in values])
    for asked in (2**63, 10**305, int(largest), 2**1023 + 1):
        expected = [value == float(asked) for value in values]
        assert compare(column, "==", sign * asked, "here").tolist() == expected
        assert compare_any(column, [sign * asked, "x"][:1], "here").tolist() == expected
    for asked in (2**1024 - 1, 10**309, 10**5000, float("inf")):
        assert compare(column, "<" if sign > 0 else ">", sign * asked, "here").all()
        assert not compare_any(column, [sign * asked], "here").any()
    assert compare_any(column, [sign * largest], "here").tolist() == [False, False, False, True]


def test_any_of_many_tags_is_found_in_one_pass_over_them():
    rows = [["a", "b"], [], ["b"], ["c"]]
    column = column_of(rows)
    assert compare_any(column, ["b", *(f"x{i}" for i in range(20_000))], "here").tolist() == [True, False, True, False]
    with pytest.raises(InvalidParameter, match="holds tags"):
        compare_any(column, ["b", 3], "here")
