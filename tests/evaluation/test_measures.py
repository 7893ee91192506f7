"""Measures agree with ir-measures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.evaluation.judgements import Grades
from hi2.evaluation.measures import Measure, agreement, mean_recall, recall

NAMES = ["RR@10", "RR@1", "R@1", "R@5", "R@20", "R@100", "nDCG@1", "nDCG@10", "nDCG@100", "Success@1", "Success@5"]


@pytest.mark.parametrize("seed", range(5))
def test_measures_agree_with_ir_measures(seed):
    ir_measures = pytest.importorskip("ir_measures", reason="needs the extra 'lab'")
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(200)]
    grades, run = {}, {}
    for query in map(str, range(30)):
        judged = rng.choice(documents, rng.integers(1, 30), replace=False)
        grades[query] = {d: int(rng.integers(0, 4)) for d in judged}
        grades[query][str(judged[0])] = 1
        found = rng.choice(documents, rng.integers(1, 150), replace=False)
        run[query] = {str(d): float(len(found) - i) for i, d in enumerate(found)}
    judged = Grades(grades)
    for name in NAMES:
        measure = Measure.named(name)
        expected = {
            row.query_id: row.value for row in ir_measures.iter_calc([ir_measures.parse_measure(name)], grades, run)
        }
        for query in judged.queries:
            value = measure(judged.gains(query, list(run[query])), judged.ideal(query))
            assert value == pytest.approx(expected[query], abs=1e-9), (name, query)


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 20))
def test_every_measure_is_between_0_and_1(gains, k):
    ideal = sorted((gain for gain in [*gains, 1] if gain > 0), reverse=True)
    for kind in ("RR", "R", "nDCG", "Success"):
        assert 0.0 <= Measure(kind, k)(gains, ideal) <= 1.0 + 1e-12


@pytest.mark.parametrize("name", ["R@0", "MAP", "R@", "ndcg@10", "R@-1"])
def test_an_unknown_measure_is_refused(name):
    with pytest.raises(hi2.InvalidParameter, match="'measures'"):
        Measure.named(name)


def test_recall_and_agreement_count_shares_of_what_is_wanted():
    assert recall(["a", "b", "c"], {"b", "c", "x"}, k=2) == pytest.approx(1 / 3)
    assert recall(["a"], set(), k=1) == 0.0
    found = [["a", "b"], ["c"], ["d"]]
    assert mean_recall(found, [{"a", "b"}, {"x"}, set()], k=2) == 0.5  # nothing is wanted of the last
    assert mean_recall(found, [set()] * 3, k=2) == 0.0
    assert agreement([[1, 2, 3]], [[3, 2, 9]], k=2) == 0.5


def test_a_measure_is_named_as_it_is_shown():
    for name in NAMES:
        assert str(Measure.named(name)) == name
