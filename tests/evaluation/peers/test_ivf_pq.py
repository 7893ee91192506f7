"""Product-quantised codes take one byte per eight dimensions."""

from __future__ import annotations

import pytest

from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.ivf_pq import FaissIVFPQ


def test_codes_are_far_smaller_than_vectors(things):
    peer, full = things.build(FaissIVFPQ()), things.build(FaissIVF())
    assert peer.factory_string(16, 7) == "IVF7,PQ2np"
    codebooks, codes = 2 * 256 * 8 * 4, 2 * len(things.texts)
    assert peer.n_bytes == pytest.approx(full.n_bytes - things.vectors.nbytes + codebooks + codes, abs=2048)
    found = peer.search(things.vectors[0], "", 10, {"nprobe": 10})
    assert (found % 8 == 0).mean() > 0.7  # most are about the same thing
