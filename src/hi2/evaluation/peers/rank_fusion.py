"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009) of BM25 and a dense index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.evaluation.peers.best_rows import best_rows
from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.fused import Fused
from hi2.evaluation.peers.hnsw import FaissHNSW
from hi2.evaluation.peers.peer import Setting
from hi2.types import Array, Floats

DEPTHS = (100, 200, 1000)
#: Added to every rank; the paper has 60.
RANK_CONSTANTS = (10, 20, 60, 100)


class RankFusion(Fused):
    """The sum of 1 / (constant + rank) over the lists that hold a document, each searched to the same depth."""

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Build both indexes."""
        super().build(vectors, texts, threads=threads)
        self._sums = np.zeros(self._n)  # one per document, all 0 between searches

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search both and order by the sums of reciprocal ranks."""
        depth = min(max(setting["depth"], k), self._n)
        words = self._words.top_rows(text, depth)
        near = self._dense.search(vector, text, depth, setting)
        near = near[near >= 0]
        shares = 1 / (setting["constant"] + np.arange(1, depth + 1))
        sums = self._sums
        sums[words] = shares[: len(words)]
        rows = np.concatenate([words, near[sums[near] == 0]])
        sums[near] += shares[: len(near)]
        best = best_rows(rows, sums[rows], k)
        sums[rows] = 0
        return best

    def fusions(self) -> Sequence[Setting]:
        """Return increasing depths, each with all rank constants."""
        return [{"depth": depth, "constant": constant} for depth in DEPTHS for constant in RANK_CONSTANTS]


class RankFusionFlat(RankFusion):
    """With brute force."""

    name = "RRF (BM25 + Flat)"
    dense = FaissFlat


class RankFusionHNSW(RankFusion):
    """With a graph. faiss searches it with at least efSearch = depth."""

    name = "RRF (BM25 + HNSW32)"
    dense = FaissHNSW
