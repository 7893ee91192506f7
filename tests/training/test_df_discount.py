"""Selectors are compared at the same number of scored documents."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

from hi2.training.df_discount import Reach


def test_longer_lists_get_no_credit_for_their_extra_cost():
    reference = Reach(np.array([10.0, 60, 100]), np.array([0.2, 0.4, 0.5]))
    dense = Reach(np.array([10.0, 900, 1000]), np.array([0.2, 0.55, 0.6]))
    better = Reach(np.array([10.0, 60, 100]), np.array([0.2, 0.45, 0.55]))
    assert dense.gain_over(reference) < 0 < better.gain_over(reference)
    assert reference.gain_over(reference) == 0
