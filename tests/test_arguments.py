"""Numbers are accepted as their callers have them, and refused by the name of their parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hi2.arguments import MAX_HITS, boolean, check_hits, integer, normalise_integers, real, thread_count
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
    with pytest.raises(InvalidParameter, match=r"'n'.*Got None"):  # None is not its default
        normalise_integers(Spec(None), n=(1, 5), m=(1, None))


def test_threads_are_given_or_those_of_the_machine():
    assert thread_count(3) == 3
    assert thread_count(None) >= 1
    for bad in (0, -1, 1025, 1.5):
        with pytest.raises(InvalidParameter, match="'threads'"):
            thread_count(bad)


def test_a_number_beyond_all_floats_is_refused():
    for value in (10**400, -(10**5000)):
        with pytest.raises(InvalidParameter, match="'x' parameter must be a number"):
            real("x", value, low=-float("inf"), high=float("inf"))


def test_true_and_false_are_given_as_such_or_as_integers():
    assert [boolean("x", value) for value in (True, np.False_, 1, 0)] == [True, False, True, False]
    for bad in (None, "yes", 1.0, np.ones(2)):
        with pytest.raises(InvalidParameter, match="'x' parameter must be True or False"):
            boolean("x", bad)


def test_a_batch_has_a_limit_of_hits():
    check_hits(0, 10)
    check_hits(MAX_HITS // 10, 10)
    with pytest.raises(InvalidParameter, match=r"'k'.*at most 1048576 for 1024 queries"):
        check_hits(1024, MAX_HITS // 1024 + 1)
