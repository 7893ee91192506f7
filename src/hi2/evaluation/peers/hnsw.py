"""Graphs: faiss HNSW with 32 links, over full vectors and over bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.peer import FaissPeer, Setting, load_faiss
from hi2.types import Floats

LINKS, CONSTRUCTION = 32, 200
EFFORTS = (100, 128, 160, 200, 256, 320, 400, 512, 700, 1000, 1400, 2000)


class FaissHNSW(FaissPeer):
    """Full vectors."""

    name = "faiss HNSW32"
    stats = "hnsw_stats"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Link the documents, efConstruction 200."""
        faiss = load_faiss()

        self._link(faiss, faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT), vectors, threads)

    def _link(self, faiss: Any, index: Any, vectors: Floats, threads: int) -> None:
        index.hnsw.efConstruction = CONSTRUCTION
        self.train(faiss, index, vectors, threads=threads)

    def parameters(self, setting: Setting) -> Any:
        """Return the effort."""
        faiss = load_faiss()

        return faiss.SearchParametersHNSW(efSearch=setting["efSearch"])

    def sweep(self) -> Sequence[Setting]:
        """Return rising efforts."""
        return [{"efSearch": effort} for effort in EFFORTS]


class FaissHNSWSQ8(FaissHNSW):
    """One byte a dimension."""

    name = "faiss HNSW32-SQ8"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Train the bytes, link the documents."""
        faiss = load_faiss()

        kind = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexHNSWSQ(vectors.shape[1], kind, LINKS, faiss.METRIC_INNER_PRODUCT)
        self._link(faiss, index, vectors, threads)
