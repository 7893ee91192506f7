"""Every instruction set gives the PQ tables and scores of the scalar kernel, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2 import _native


@pytest.mark.parametrize("level", _native.simd_levels())
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_pq_levels_agree_bit_for_bit_with_scalar(level, width, n, seed):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((width, 256)).astype(np.float32)
    codes = rng.integers(0, 256, (n, width)).astype(np.uint8)
    docs = rng.integers(0, n, 9).astype(np.uint32)
    scalar = _native.pq_scores(table, codes, docs, "scalar")
    np.testing.assert_array_equal(_native.pq_scores(table, codes, docs, level), scalar)
    expected = table.astype(np.float64)[np.arange(width), codes].sum(1)
    np.testing.assert_allclose(scalar[:n], expected, atol=1e-4)
    np.testing.assert_array_equal(scalar[n:], scalar[:n][docs])
    query, columns = table[:, 0].copy(), rng.standard_normal((width, 37)).astype(np.float32)
    np.testing.assert_array_equal(_native.pq_table(query, columns, level), _native.pq_table(query, columns, "scalar"))
