"""The best hits of 4-bit codes are rescored by full vectors, as many as the factor says."""

from __future__ import annotations

import numpy as np

from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.ivf_fastscan import FaissIVFFastScan


def test_a_larger_factor_finds_more_of_the_best(things):
    scan, flat = things.build(FaissIVFFastScan()), things.build(FaissFlat())

    def agreement(factor):
        found = [scan.search(vector, "", 10, {"nprobe": 10, "factor": factor}) for vector in things.vectors[:20]]
        best = [flat.search(vector, "", 10, {}) for vector in things.vectors[:20]]
        return np.mean([len(set(a.tolist()) & set(b.tolist())) / 10 for a, b in zip(found, best, strict=True)])

    assert agreement(1) < agreement(40) == 1.0
    assert {own["factor"] for own in scan.sweep()} == {1.5, 3, 6}
