"""Every instruction set gives the inner products of the scalar kernel, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2 import _native


@pytest.mark.parametrize("level", _native.simd_levels())
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 70), st.integers(1, 9), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_dot_levels_agree_bit_for_bit_with_scalar(level, dim, n_rows, n_queries, seed):
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((n_rows, dim)) * 10.0 ** rng.integers(-3, 3)).astype(np.float32)
    queries = rng.standard_normal((n_queries, dim)).astype(np.float32)
    scalar = _native.dot(queries, rows, "scalar")
    np.testing.assert_array_equal(_native.dot(queries, rows, level), scalar)
    exact = queries.astype(np.float64) @ rows.astype(np.float64).T
    scale = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(rows, axis=1)
    assert (np.abs(scalar - exact) <= 1e-5 * scale + 1e-30).all()
    docs = rng.integers(0, n_rows, 13).astype(np.uint32)
    np.testing.assert_array_equal(_native.dot_gather(queries[0], rows, docs, level), scalar[0][docs])
