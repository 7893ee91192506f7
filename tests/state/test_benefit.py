"""What lists promise is seven weights and a chance as log-odds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hi2.state.benefit import DEFAULT_BENEFIT, Benefit, log_odds


def test_the_native_search_gets_the_weights_in_their_order():
    benefit = Benefit(base=1, rank=2, rank2=3, gap=4, term=5, idf=6, idf_rank=7)
    assert benefit.array.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert benefit.array.dtype == np.float32
    assert benefit.array is benefit.array  # made once, because every search reads it


def test_by_default_near_clusters_and_rare_terms_promise_more():
    assert DEFAULT_BENEFIT.rank < 0
    assert DEFAULT_BENEFIT.gap < 0
    assert DEFAULT_BENEFIT.term > 0
    assert DEFAULT_BENEFIT.idf > 0


@given(st.floats(1e-6, 1 - 1e-6))
def test_log_odds_are_the_inverse_of_the_logistic_function(share):
    assert 1 / (1 + math.exp(-log_odds(share))) == pytest.approx(share)


@pytest.mark.parametrize(("share", "expected"), [(0, -math.inf), (-1, -math.inf), (1, math.inf), (2, math.inf)])
def test_no_chance_and_certainty_are_infinite(share, expected):
    assert log_odds(share) == expected
    assert log_odds(0.5) == 0
