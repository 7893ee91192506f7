"""Graphs: faiss HNSW with 32 links per node, over full vectors and over 8-bit codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.peer import FaissPeer, Setting, load_faiss
from hi2.types import Floats

N_LINKS, EF_CONSTRUCTION = 32, 200
EF_SEARCH_VALUES = (100, 128, 160, 200, 256, 320, 400, 512, 700, 1000, 1400, 2000)


class FaissHNSW(FaissPeer):
    """A graph over full vectors."""

    name = "faiss HNSW32"
    stats = "hnsw_stats"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Build the graph with efConstruction 200."""
        faiss = load_faiss()

        self._link(faiss, faiss.IndexHNSWFlat(vectors.shape[1], N_LINKS, faiss.METRIC_INNER_PRODUCT), vectors, threads)

    def _link(self, faiss: Any, index: Any, vectors: Floats, threads: int) -> None:
        index.hnsw.efConstruction = EF_CONSTRUCTION
        self.train_and_add(faiss, index, vectors, threads=threads)

    def search_parameters(self, setting: Setting) -> Any:
        """Return faiss's parameters with efSearch set."""
        faiss = load_faiss()

        return faiss.SearchParametersHNSW(efSearch=setting["efSearch"])

    def sweep(self) -> Sequence[Setting]:
        """Return increasing values of efSearch."""
        return [{"efSearch": effort} for effort in EF_SEARCH_VALUES]


class FaissHNSWSQ8(FaissHNSW):
    """A graph over codes of one byte per dimension."""

    name = "faiss HNSW32-SQ8"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Train the codes and build the graph."""
        faiss = load_faiss()

        kind = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexHNSWSQ(vectors.shape[1], kind, N_LINKS, faiss.METRIC_INNER_PRODUCT)
        self._link(faiss, index, vectors, threads)
