"""Significance tests and intervals agree with their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation.significance import bootstrap_interval, holm, paired_p


def test_the_paired_test_is_students_t_test():
    stats = pytest.importorskip("scipy.stats", reason="needs the extra 'lab'")
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    t = (a - b).mean() / ((a - b).std(ddof=1) / np.sqrt(50))
    assert paired_p(a, b) == pytest.approx(2 * stats.t.sf(abs(t), 49))
    assert paired_p(a, a) == 1.0
    assert paired_p(a, a + 0.25) == pytest.approx(0.0)
    with pytest.raises(hi2.InvalidParameter, match="the same 50 questions"):
        paired_p(a, b[:49])


def test_holm_never_falls_below_the_raw_value_and_keeps_the_order():
    raw = {"a": 0.001, "b": 0.2, "c": 0.02, "d": 0.9}
    corrected = holm(raw)
    assert corrected == pytest.approx({"a": 0.004, "c": 0.06, "b": 0.4, "d": 0.9})
    assert list(corrected) == ["a", "c", "b", "d"]


def test_the_bootstrap_interval_covers_the_mean():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        values = rng.random(80)
        low, high = bootstrap_interval(values, n=300)
        covered += low <= 0.5 <= high
    assert 85 <= covered <= 100
    assert bootstrap_interval([0.25, 0.25]) == (0.25, 0.25)
    with pytest.raises(hi2.InvalidParameter):
        bootstrap_interval([])
