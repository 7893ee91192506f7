"""Half keeps vectors in float16, as numpy rounds them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hi2

FLOATS = st.floats(-65504, 65504, width=32)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=FLOATS))
def test_codes_are_rounded_as_numpy_rounds(vectors):
    codec = hi2.Half().fit(vectors, threads=1)
    codes = codec.encode(vectors)
    assert codec.code_bytes == codes.shape[1] == 2 * vectors.shape[1]
    np.testing.assert_array_equal(codes.view(np.float16), vectors.astype(np.float16))


def test_values_beyond_float16_are_clipped():
    vectors = np.array([[65504, 65519, 65520, 1e6, -1e16, 1e-9]], np.float32)
    codes = hi2.Half().fit(vectors, threads=1).encode(vectors)
    assert codes.view(np.float16).tolist() == [[65504, 65504, 65504, 65504, -65504, 0]]
