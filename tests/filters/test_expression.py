"""Conditions on columns are joined by and, or and not, and are the same in Python and in text."""

from __future__ import annotations

import json
import operator
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2.errors import InvalidParameter
from hi2.filters.columns import Columns
from hi2.filters.expression import MAX_DEPTH, And, Comparison, Not, Or, check_columns, read_column
from hi2.filters.parser import parse
from work import instructions


def test_python_expressions_equal_filter_strings():
    column = hi2.column
    pairs = [
        ((column("year") >= 2020) & column("lang").isin(["en", "de"]), "year >= 2020 and lang in ('en', 'de')"),
        (~(column("draft") == True) | column("tags").contains("t3"), "not draft or tags contains 't3'"),  # noqa: E712
        (column("seen") > date(2021, 1, 31), "seen > '2021-01-31'"),
        (column("an odd name").exists(), "`an odd name` exists"),
        (column("lang") == "it's \\ 'quoted'", "lang == 'it\\'s \\\\ \\'quoted\\''"),
    ]
    for expression, text in pairs:
        assert str(expression) == str(parse(text))
        assert str(parse(str(expression))) == str(expression)
    with pytest.raises(InvalidParameter, match="no truth of its own"):
        bool(column("year") > 3)


def columns_of(*rows):
    return Columns.of_lines([json.dumps({"payload": row}).encode() for row in rows], np.arange(len(rows)))


OPERATORS = {"==": operator.eq, "<": operator.lt, ">=": operator.ge}


def _comparison(name, op, value):
    """A comparison, and the same in plain Python."""
    return Comparison(name, op, value), lambda row: row.get(name) is not None and OPERATORS[op](row[name], value)


def _joined(parts):
    def joined(kind, all_or_any):
        return kind(tuple(e for e, _ in parts)), lambda row: all_or_any(rule(row) for _, rule in parts)

    return st.sampled_from([joined(And, all), joined(Or, any)])


CONDITIONS = st.recursive(
    st.builds(_comparison, st.sampled_from("ab"), st.sampled_from(sorted(OPERATORS)), st.integers(0, 3)),
    lambda inner: (
        inner.map(lambda pair: (Not(pair[0]), lambda row: not pair[1](row)))
        | st.lists(inner, min_size=2, max_size=3).flatmap(_joined)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(CONDITIONS, st.lists(st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(0, 3)), min_size=1))
def test_any_condition_holds_where_it_does_in_plain_python(condition, rows):
    expression, rule = condition
    columns = columns_of(*rows)
    assert expression.flags(columns).tolist() == [rule(row) for row in rows]
    again = parse(str(expression))
    assert again.flags(columns).tolist() == [rule(row) for row in rows]
    assert again.names() == expression.names()


def test_not_includes_documents_without_a_value():
    columns = columns_of({"a": 1}, {}, {"a": None})
    assert (hi2.column("a") != 1).flags(columns).tolist() == [False] * 3
    assert (~(hi2.column("a") == 1)).flags(columns).tolist() == [False, True, True]
    assert hi2.column("a").exists().flags(columns).tolist() == [True, False, False]
    assert hi2.column("nowhere").exists().flags(columns).tolist() == [False] * 3


def test_conditions_joined_by_one_word_are_not_nested():
    a, b, c, d = (hi2.column(name) == 1 for name in "abcd")
    assert str(a & b & c) == "(a == 1 and b == 1 and c == 1)"
    assert str((a & b) | (c & d)) == "((a == 1 and b == 1) or (c == 1 and d == 1))"
    with pytest.raises(InvalidParameter, match="put comparisons in brackets"):
        a & True


def test_names_that_are_words_or_odd_are_quoted():
    assert str(hi2.column("not").exists()) == "`not` exists"
    assert str(hi2.column("a.b") == 1) == "a.b == 1"
    assert str(hi2.column("a b") == True) == "`a b`"  # noqa: E712
    for bad in ("", "a`b", None):
        with pytest.raises(InvalidParameter, match="a column's name"):
            hi2.column(bad)


def test_a_column_is_compared_with_plain_values_only():
    assert str(hi2.column("a") < np.float64(0.5)) == "a < 0.5"
    late = datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))
    odd = (np.datetime64("NaT"), np.datetime64(2**60, "Y"), np.timedelta64(3, "s"), np.void(b"x"), [10**5000], late)
    for bad in (None, [1], float("nan"), np.float32("nan"), object(), hi2.column("b"), *odd):
        with pytest.raises(InvalidParameter, match="a number, a string, a boolean or a date"):
            hi2.column("a") == bad  # noqa: B015


def test_is_in_takes_a_list():
    for bad in (3, None, "en"):
        with pytest.raises(InvalidParameter, match=r"'values'.*a list of values"):
            hi2.column("a").isin(bad)


def chain(n):
    """n conditions joined in a loop."""
    found = hi2.column("a") == 0
    for number in range(1, n):
        found = found | (hi2.column("a") == number)
    return found


def test_joining_in_a_loop_takes_work_in_proportion_to_the_conditions():
    few, many = (instructions(lambda n=n: chain(n).parts) for n in (100, 800))
    assert many < 9 * few
    joined = chain(100_000)
    assert (joined.depth, len(joined.parts), joined.names()) == (2, 100_000, {"a"})
    assert joined.text.startswith("(a == 0 or a == 1 or ")
    assert hi2.column("b").exists().flags(columns_of({"b": 1})).tolist() == [True]


def test_sides_that_share_a_beginning_stay_apart():
    a, b, c = (hi2.column(name) == 1 for name in "abc")
    both = a | b
    assert [str(both | c), str(both | a), str(both), str(c | both)] == [
        "(a == 1 or b == 1 or c == 1)",
        "(a == 1 or b == 1 or a == 1)",
        "(a == 1 or b == 1)",
        "(c == 1 or a == 1 or b == 1)",
    ]


def test_conditions_too_deep_inside_each_other_are_refused():
    deep = hi2.column("a") == 1
    for _ in range(MAX_DEPTH - 1):
        deep = ~deep
    assert parse(str(deep)).depth == deep.depth == MAX_DEPTH
    assert deep.flags(columns_of({"a": 1}, {"a": 2})).tolist() == [False, True]
    for join in (operator.invert, lambda own: own | deep, lambda own: own & (hi2.column("b") == 1)):
        with pytest.raises(InvalidParameter, match=r"at most 100 brackets and nots inside each other\. Got 101"):
            join(deep)


def test_a_column_that_no_segment_has_is_refused_with_those_there_are():
    first, second = columns_of({"year": 1}), columns_of({"lang": "en"})
    check_columns(parse("year > 1 or lang == 'en'"), [first, second])
    with pytest.raises(InvalidParameter, match=r"\(lang, year\)\. Got 'planet' in \(year > 1 and planet == 3\)"):
        check_columns(parse("year > 1 and planet == 3"), [first, second])
    with pytest.raises(InvalidParameter, match="no document has a payload"):
        check_columns(parse("planet == 3"), [columns_of({})])


def test_one_column_is_read_from_every_segment_that_has_it():
    first, second = columns_of({"year": 1}), columns_of({"lang": "en"})
    found = read_column([first, second], "year")
    assert (found[0].name, found[1]) == ("year", None)
    with pytest.raises(InvalidParameter, match=r"'group_by'.*lang, year.*'planet'"):
        read_column([first, second], "planet")


def test_a_key_with_a_dot_is_quoted_everywhere():
    payload = [{"a": {"b.c": 1}, "k.l": "x"}, {"a": {"b.c": 2}, "k.l": "y"}]
    index = hi2.HybridIndex.build(np.eye(2), terms=None, payload=payload)
    assert index.ids(filter="a.`b.c` == 2") == [1]
    assert index.ids(filter=hi2.column("a.`b.c`") == 2) == [1]
    assert index.facet("a.`b.c`") == {1: 1, 2: 1}
    assert index.facet("`k.l`") == index.facet("k.l") == {"x": 1, "y": 1}
    assert index.search([1.0, 0.0], k=2, group_by="a.`b.c`").groups.tolist() == [1, 2]
    assert "a.`b.c`" in str(index.column_types().kinds)
    with pytest.raises(hi2.InvalidParameter, match=r"a\.`b\.c`"):
        index.facet("nope")
