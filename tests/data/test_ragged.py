"""Rows of unequal length are taken in any order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hi2.data.ragged import take_rows


@pytest.mark.parametrize("rows", [[], [1], [2, 0], [0, 1, 2], [2, 2]])
def test_rows_are_taken_with_offsets_of_their_own(rows):
    values = [np.array([7, 8], np.uint32), np.array([], np.uint32), np.array([9], np.uint32)]
    offsets, taken = take_rows(np.array([0, 2, 2, 3], np.uint64), np.concatenate(values), rows)
    assert offsets.dtype == np.uint64
    assert taken.dtype == np.uint32
    found = [taken[int(begin) : int(end)].tolist() for begin, end in pairwise(offsets)]
    assert found == [values[row].tolist() for row in rows]
