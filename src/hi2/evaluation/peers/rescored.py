"""The simplest baseline: BM25's best documents, rescored by their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.evaluation.peers.bm25 import BM25s
from hi2.evaluation.peers.peer import Setting
from hi2.types import Array, Floats


class Rescored(BM25s):
    """BM25's top n, ordered by inner product."""

    name = "BM25 rescored"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the words and keep the vectors."""
        super().build(vectors, texts, threads=threads)
        self._vectors = vectors

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Find n documents by words and order them by vectors."""
        return self.rescore(self.top_rows(text, setting["n"]), vector, k)

    def rescore(self, rows: Array, vector: Floats, k: int) -> Array:
        """Return the ``k`` best of some rows by inner product."""
        scores = np.einsum("ij,j->i", self._vectors[rows], vector)  # einsum stays on one thread, unlike @
        order = np.argsort(-scores, kind="stable")[:k]
        ordered: Array = rows[order]
        return ordered

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return how many documents were rescored."""
        return len(self.top_rows(text, setting["n"]))

    def sweep(self) -> Sequence[Setting]:
        """Return increasing depths."""
        return [{"n": n} for n in (100, 200, 500, 1000, 2000, 4000, 8000, 16_000) if n <= self._n]

    @property
    def n_bytes(self) -> int:
        """The bytes of postings and vectors."""
        return super().n_bytes + int(self._vectors.nbytes)
