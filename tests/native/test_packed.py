"""Packed arrays return what was packed, in as many bits as were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2 import _native


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 57), st.lists(st.integers(0, 2**57 - 1), max_size=50))
def test_unpacking_returns_the_packed_values(bits, values):
    array = np.array([value % (1 << bits) for value in values], np.uint64)
    packed = _native.pack(array, bits)
    assert len(packed) == (len(array) * bits + 7) // 8 + _native.PADDING
    np.testing.assert_array_equal(_native.unpack(packed, bits, len(array)), array)


def test_a_value_that_does_not_fit_is_rejected():
    with pytest.raises(ValueError, match="more bits"):
        _native.pack(np.array([8], np.uint64), 3)
    with pytest.raises(ValueError, match="as long as"):
        _native.unpack(np.zeros(9, np.uint8), 3, 100)
