"""The best documents of a query are found exactly, ties in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs the extra 'train'")

from hi2.training.examples import top_columns


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 1500), st.integers(1, 30), st.integers(0, 2**32 - 1), st.sampled_from([3, 1000])
)
def test_top_columns_are_those_of_a_stable_sort(n, width, depth, seed, levels):
    scores = np.random.default_rng(seed).integers(0, levels, (n, width)).astype(np.float32)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    assert np.array_equal(top_columns(scores, depth), expected)
