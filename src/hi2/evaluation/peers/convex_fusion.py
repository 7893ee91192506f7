"""A weighted mean of scores (Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023).

    w · (dense + 1) / (max dense + 1) + (1 - w) · BM25 / max BM25

Scores are scaled from their theoretical minimum, which is -1 for vectors of unit length and 0 for BM25, to the largest
of the query.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.evaluation.peers.best_rows import best_rows
from hi2.evaluation.peers.bm25 import top_matches
from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.fused import Fused
from hi2.evaluation.peers.hnsw import FaissHNSW
from hi2.evaluation.peers.peer import Setting, inner_products
from hi2.evaluation.peers.rank_fusion import DEPTHS
from hi2.types import Array, Floats

WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def combine(dense: Floats, words: Floats, weight: float) -> Floats:
    """Return the weighted means of some documents, less w / (max dense + 1), which orders nothing."""
    highest = float(words.max(initial=0))
    sums: Floats = dense * (weight / max(float(dense.max()) + 1, 1e-9))
    if highest > 0:
        sums += words * ((1 - weight) / highest)
    return sums


class ConvexFusion(Fused):
    """Documents ordered by the weighted mean of their scores."""

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Build both indexes."""
        super().build(vectors, texts, threads=threads)
        self._vectors = self._dense.stored_vectors


class ConvexFusionFlat(ConvexFusion):
    """With brute force: both scores of every document are known."""

    name = "convex (BM25 + Flat)"
    dense = FaissFlat

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Score all documents twice and order them by the weighted mean."""
        dense = inner_products(self._vectors, vector)
        return best_rows(None, combine(dense, self._words.scores(text), setting["w"]), k)

    def fusions(self) -> Sequence[Setting]:
        """Return increasing weights of the dense scores."""
        return [{"w": weight} for weight in WEIGHTS]


class ConvexFusionHNSW(ConvexFusion):
    """With a graph: the union of both lists gets both scores.

    BM25 has scored what the graph found. What only BM25 found is scored with the vectors that the graph stores.
    """

    name = "convex (BM25 + HNSW32)"
    dense = FaissHNSW

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search both and order the union by the weighted mean."""
        depth = min(max(setting["depth"], k), self._n)
        near, dense = self._dense.search_scores(vector, depth, setting)
        near, dense = near[near >= 0], dense[near >= 0]
        scores = self._words.scores(text)
        words = top_matches(scores, depth)
        known = np.zeros(self._n, bool)
        known[near] = True
        others = words[~known[words]]
        rows = np.concatenate([near, others])
        dense = np.concatenate([dense, inner_products(self._vectors[others], vector)])
        return best_rows(rows, combine(dense, scores[rows], setting["w"]), k)

    def fusions(self) -> Sequence[Setting]:
        """Return increasing depths, each with all weights."""
        return [{"depth": depth, "w": weight} for depth in DEPTHS for weight in WEIGHTS]
