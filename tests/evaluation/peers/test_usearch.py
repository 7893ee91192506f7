"""USearch's graph searched widely finds the best documents, at half a vector's bytes and its links."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.usearch import USearch


def test_a_wide_search_finds_the_best(things):
    pytest.importorskip("usearch", reason="needs the extra 'peers'")
    peer, flat = things.build(USearch()), things.build(FaissFlat())
    for vector in things.vectors[:5]:
        found = peer.search(vector, "", 5, peer.sweep()[-1])
        best = things.vectors[flat.search(vector, "", 5, {})] @ vector
        assert (things.vectors[found] @ vector).tolist() == pytest.approx(best.tolist(), abs=1e-3)
    assert peer.n_bytes > things.vectors.size * 2
