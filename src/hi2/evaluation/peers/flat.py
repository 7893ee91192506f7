"""Brute force: faiss IndexFlatIP."""

from __future__ import annotations

from collections.abc import Sequence

from hi2.evaluation.peers.peer import FaissPeer, Setting, load_faiss
from hi2.types import Floats


class FaissFlat(FaissPeer):
    """Every document is scored exactly."""

    name = "Flat"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Copy the vectors."""
        faiss = load_faiss()

        self.train_and_add(faiss, faiss.IndexFlatIP(vectors.shape[1]), vectors, threads=threads)

    def sweep(self) -> Sequence[Setting]:
        """Return the only setting."""
        return [{}]
