"""Distinct values are those that numpy finds."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.data.distinct import distinct


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_distinct_values_are_those_of_numpy(n, dtype):
    values = np.random.default_rng(n).integers(0, 100, n).astype(dtype)
    found = distinct(values)
    np.testing.assert_array_equal(found, np.unique(values))
    assert found.dtype == dtype
