"""Every error can be caught as hi2.Error and as the built-in exception it resembles."""

from __future__ import annotations

import pytest

import hi2
from hi2.errors import LONGEST_VALUE, described, invalid


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (hi2.InvalidParameter, ValueError),
        (hi2.MissingExtra, ImportError),
        (hi2.UnsupportedVersion, hi2.FormatError),
        (hi2.FormatError, hi2.Error),
        (hi2.Locked, hi2.Error),
        (hi2.ReadOnly, hi2.Error),
    ],
)
def test_an_error_is_also_what_it_resembles(kind, also):
    with pytest.raises(also):
        raise kind("said")
    assert issubclass(kind, hi2.Error)


def test_an_invalid_parameter_names_itself_its_value_and_the_way_out():
    error = invalid("k", "an integer of at least 1", -3)
    assert isinstance(error, hi2.InvalidParameter)
    assert str(error) == "The 'k' parameter must be an integer of at least 1. Got -3."


def test_a_value_that_cannot_be_shown_is_named_by_its_type():
    class Odd:
        def __repr__(self):
            raise RuntimeError("no")

    assert described(10**5000) == "a int"
    assert described([10**5000]) == "a list"
    assert described(Odd()) == "a Odd"
    assert described("it's") == '"it\'s"'
    assert "Got a int." in str(invalid("k", "small", 10**5000))


def test_a_long_value_is_cut():
    assert described("x" * 10_000) == "'" + "x" * (LONGEST_VALUE - 1) + "…"
