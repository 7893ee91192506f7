"""Expressions of Python and of text are the same conditions."""

from __future__ import annotations

from datetime import date

import pytest

import hi2
from hi2.errors import InvalidParameter
from hi2.filters.parser import parse


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
