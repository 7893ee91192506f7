"""Rows of unequal length are taken in any order."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.data.ragged import Ragged, take_rows


@pytest.mark.parametrize("rows", [[], [1], [2, 0], [0, 1, 2], [2, 2]])
def test_rows_are_taken_with_offsets_of_their_own(rows):
    values = [np.array([7, 8], np.uint32), np.array([], np.uint32), np.array([9], np.uint32)]
    offsets, taken = take_rows(np.array([0, 2, 2, 3], np.uint64), np.concatenate(values), rows)
    assert offsets.dtype == np.uint64
    assert taken.dtype == np.uint32
    found = [taken[int(begin) : int(end)].tolist() for begin, end in pairwise(offsets)]
    assert found == [values[row].tolist() for row in rows]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=5), min_size=1, max_size=12), st.data())
def test_any_rows_are_taken_in_any_order(rows, data):
    column = Ragged.of(rows)
    assert column.rows() == rows
    assert column.lengths.tolist() == [len(row) for row in rows]
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=15))
    taken = column.take(np.array(chosen, np.int64))
    assert taken.rows() == [rows[i] for i in chosen]
    assert len(taken.data) == sum(len(rows[i]) for i in chosen)


def test_a_few_rows_of_many_are_taken_without_looking_at_all():
    n = 2_000_000
    column = Ragged(np.arange(1, n + 1, dtype=np.uint64), np.zeros(n, np.uint8))
    tracemalloc.start()
    try:
        assert len(column.take(np.arange(n - 512, n))) == 512
        assert tracemalloc.get_traced_memory()[1] < n  # the lengths of all rows would take 8 n bytes
    finally:
        tracemalloc.stop()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=4), max_size=4), max_size=4))
def test_columns_are_joined_one_after_another(columns):
    joined = Ragged.concatenate(Ragged.of(rows) for rows in columns)
    assert joined.rows() == [row for rows in columns for row in rows]
    assert len(joined) == sum(map(len, columns))
