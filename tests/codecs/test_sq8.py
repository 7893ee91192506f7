"""SQ8 rounds every dimension to one of 255 steps between the extremes of the sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2


def decode(codec, codes):
    return codec.arrays["middle"] + codes.view(np.int8) * codec.arrays["step"].astype(np.float64)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 9), st.floats(1e-3, 1e3))
def test_values_within_the_sample_are_off_by_at_most_half_a_step(seed, n, dim, scale):
    sample = (np.random.default_rng(seed).standard_normal((n, dim)) * scale).astype(np.float32)
    codec = hi2.SQ8().fit(sample, threads=1)
    codes = codec.encode(sample)
    assert codec.code_bytes == codes.shape[1] == dim
    assert (np.abs(decode(codec, codes) - sample) <= 0.501 * codec.arrays["step"] + 1e-6 * scale).all()


def test_values_beyond_the_sample_are_clipped_after_a_tenth():
    codec = hi2.SQ8().fit(np.array([[-1.0], [1.0]], np.float32), threads=1)
    far = decode(codec, codec.encode(np.array([[1.05], [1.1], [9.0], [-9.0]], np.float32)))
    np.testing.assert_allclose(far[:, 0], [1.05, 1.1, 1.1, -1.1], atol=0.005)


@pytest.mark.parametrize("value", [0.0, 3.5, 1e-20])
def test_a_constant_dimension_keeps_its_value(value):
    sample = np.full((5, 2), value, np.float32)
    codec = hi2.SQ8().fit(sample, threads=1)
    assert (codec.arrays["step"] > 0).all()
    np.testing.assert_allclose(decode(codec, codec.encode(sample)), sample, rtol=1e-6)


def test_the_spec_is_residual_only_if_asked():
    assert not hi2.SQ8().residual
    assert hi2.SQ8(residual=1) == hi2.SQ8(residual=True)
