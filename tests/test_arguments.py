"""Numbers are accepted as their callers have them, and refused by the name of their parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hi2.arguments import integer, normalise_integers, real, thread_count
from hi2.errors import InvalidParameter


@given(value=st.integers(), low=st.integers(), high=st.none() | st.integers())
def test_an_integer_is_accepted_within_its_bounds(value, low, high):
    if value < low or (high is not None and value > high):
        with pytest.raises(InvalidParameter, match="'n'"):
            integer("n", value, low=low, high=high)
    else:
        assert integer("n", value, low=low, high=high) == value


@pytest.mark.parametrize("value", [True, 1.0, "1", None, np.float32(1), [1]])
def test_what_is_not_an_integer_is_refused(value):
    with pytest.raises(InvalidParameter, match="an integer of at least 0"):
        integer("n", value, low=0)


def test_numbers_of_numpy_become_plain_ones():
    assert type(integer("n", np.int8(3), low=0)) is int
    assert type(real("x", np.float32(0.5), low=0, high=1)) is float
    assert real("x", 1, low=0, high=1) == 1.0


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "0.5", None, 1j])
def test_a_real_number_outside_its_bounds_is_refused(value):
    with pytest.raises(InvalidParameter, match="'x' parameter must be a number from 0 to 1"):
        real("x", value, low=0, high=1)


def test_the_integers_of_a_spec_are_checked_and_none_stays_none():
    @dataclass(frozen=True)
    class Spec:
        n: int | None
        m: int | None = None

    spec = Spec(np.uint8(3))
    normalise_integers(spec, n=(1, 5), m=(1, None))
    assert (type(spec.n), spec.m) == (int, None)
    with pytest.raises(InvalidParameter, match="'m'"):
        normalise_integers(Spec(3, 0), n=(1, 5), m=(1, None))


def test_threads_are_given_or_those_of_the_machine():
    assert thread_count(3) == 3
    assert thread_count(None) >= 1
    for bad in (0, -1, 1025, 1.5):
        with pytest.raises(InvalidParameter, match="'threads'"):
            thread_count(bad)
