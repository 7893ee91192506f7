"""ScaNN with every leaf and deep rescoring is brute force."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.scann import ScaNN


def test_every_leaf_and_deep_rescoring_are_brute_force(things):
    pytest.importorskip("scann", reason="needs the extra 'peers'")
    peer, flat = things.build(ScaNN()), things.build(FaissFlat())
    setting = {"leaves": 40, "reorder": 400}
    for vector in things.vectors[:5]:
        assert sorted(peer.search(vector, "", 5, setting)) == sorted(flat.search(vector, "", 5, {}))
    assert max(own["leaves"] for own in peer.sweep()) <= 40  # twice the square root of 400
