"""Rank fusion: BM25 and brute force, merged by reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.evaluation.peers.bm25 import BM25s
from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.peer import Peer, Setting
from hi2.types import Array, Floats

#: Added to every rank, as in the paper.
RANK_CONSTANT = 60


class Fused(Peer):
    """Reciprocal rank fusion (Cormack et al., SIGIR 2009) of BM25 and Flat, each searched to the same depth."""

    name = "RRF (BM25, Flat)"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Build both indexes."""
        self._words, self._flat = BM25s(), FaissFlat()
        self._words.build(vectors, texts, threads=threads)
        self._flat.build(vectors, texts, threads=threads)

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search both and sum 1 / (60 + rank) per document."""
        depth = max(setting["depth"], k)
        scores: dict[int, float] = {}
        for rows in (self._words.top_rows(text, depth), self._flat.search(vector, text, depth, {})):
            for rank, row in enumerate(rows.tolist(), 1):
                scores[row] = scores.get(row, 0.0) + 1 / (RANK_CONSTANT + rank)
        best = sorted(scores, key=lambda row: (-scores[row], row))[:k]
        return np.array(best, np.int64)

    def sweep(self) -> Sequence[Setting]:
        """Return increasing depths."""
        return [{"depth": depth} for depth in (100, 200, 1000)]

    @property
    def n_bytes(self) -> int:
        """The bytes of both indexes."""
        return self._words.n_bytes + self._flat.n_bytes
