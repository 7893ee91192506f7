"""Ids are integers or strings, every id once, and a column of them sorts as Python does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.data.ids import IdColumn, check_id, id_column, parse_ids
from hi2.errors import InvalidParameter

INTEGERS = st.lists(st.integers(0, 2**63 - 1), unique=True, max_size=30)
STRINGS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), unique=True, min_size=1, max_size=30)


@settings(max_examples=150, deadline=None)
@given(INTEGERS | STRINGS)
def test_a_column_returns_its_ids_and_sorts_them_by_value(ids):
    column = id_column(ids)
    assert column.as_list() == ids
    assert len(column) == len(ids)
    # UTF-8 sorts as code points do, which is how Python compares strings.
    assert column.take(column.order()).as_list() == sorted(ids)


@settings(max_examples=60, deadline=None)
@given(STRINGS, STRINGS)
def test_columns_are_concatenated_in_order(first, second):
    assert IdColumn.concatenate([id_column(first), id_column(second)]).as_list() == first + second


def test_the_kind_follows_from_the_first_id():
    assert id_column(["a"]).kind == "str"
    assert id_column([1]).kind == id_column(np.array([1, 2])).kind == id_column([]).kind == "int"
    assert id_column(np.array(["a", "b"])).as_list() == ["a", "b"]
    assert IdColumn.concatenate([id_column([3]), id_column([1])]).as_list() == [3, 1]


def test_the_next_integer_follows_the_largest():
    assert id_column([7, 3]).next_integer() == 8
    assert id_column([]).next_integer() == 0
    assert id_column(["a"]).next_integer() == 0


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        ([1, 2, 1], r"unique. Got 1 in rows 0 and 2"),
        (["b", "a", "b"], r"unique. Got 'b' in rows 0 and 2"),
        ([0, True], r"integers. Got True in row 1"),
        (["a", 1], r"1 in row 1 after strings"),
        (np.zeros((2, 2)), r"shape \(2, 2\)"),
        (b"ab", r"single string"),
        ([2**63], r"2\^63 - 1"),
    ],
)
def test_invalid_ids_are_refused_with_their_row(ids, match):
    with pytest.raises(InvalidParameter, match=match):
        id_column(ids)


def test_one_id_is_stored_as_a_plain_string_or_integer():
    assert check_id("a") == "a"
    assert type(check_id(np.int32(5))) is int
    for bad in (True, 1.0, None, b"a"):
        with pytest.raises(InvalidParameter, match=r"'id'.*a string or an integer"):
            check_id(bad)


def test_ids_given_as_strings_take_the_kind_of_the_index():
    assert parse_ids(["7", "07"], "int") == [7, 7]
    assert parse_ids(["7", "x"], "str") == ["7", "x"]
    assert parse_ids(["7"], None) == ["7"]
    for bad in ("x", "-1", "1.5", "²", "٣", ""):
        with pytest.raises(InvalidParameter, match="integers, as in this index"):
            parse_ids([bad], "int")
