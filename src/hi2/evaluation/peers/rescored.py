"""The simplest rival: BM25's best documents, rescored by their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.evaluation.peers.bm25 import BM25s
from hi2.evaluation.peers.peer import Setting
from hi2.types import Array, Floats


class Rescored(BM25s):
    """BM25's top n in the order of their inner products."""

    name = "BM25, rescored"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the words, keep the vectors."""
        super().build(vectors, texts, threads=threads)
        self._vectors = vectors

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Find n by words, order them by vectors."""
        return self.best(self.ranked(text, setting["n"]), vector, k)

    def best(self, rows: Array, vector: Floats, k: int) -> Array:
        """Return the best of some rows by inner product."""
        scores = np.einsum("ij,j->i", self._vectors[rows], vector)  # one thread, which a product would not keep to
        order = np.argsort(-scores, kind="stable")[:k]
        ordered: Array = rows[order]
        return ordered

    def scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return how many documents were rescored."""
        return len(self.ranked(text, setting["n"]))

    def sweep(self) -> Sequence[Setting]:
        """Return rising depths."""
        return [{"n": n} for n in (100, 200, 500, 1000, 2000, 4000, 8000, 16_000) if n <= self._n]

    @property
    def n_bytes(self) -> int:
        """Postings and vectors."""
        return super().n_bytes + int(self._vectors.nbytes)
