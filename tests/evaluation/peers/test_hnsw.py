"""A graph searched widely is nearly brute force; its codes are smaller than vectors."""

from __future__ import annotations

import numpy as np

from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.hnsw import FaissHNSW, FaissHNSWSQ8


def test_a_wide_search_finds_the_best(things):
    flat, graph, coded = (things.build(peer()) for peer in (FaissFlat, FaissHNSW, FaissHNSWSQ8))
    wide = graph.sweep()[-1]
    for vector in things.vectors[:5]:
        assert graph.search(vector, "", 5, wide).tolist() == flat.search(vector, "", 5, {}).tolist()
    few, many = (
        np.mean([graph.count_scored(v, "", 5, {"efSearch": n}) for v in things.vectors[:9]]) for n in (10, 200)
    )
    assert few < many
    assert coded.n_bytes < graph.n_bytes - 2 * things.vectors.size
