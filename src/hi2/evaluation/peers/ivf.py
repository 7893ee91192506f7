"""Inverted files of faiss: over full vectors here, and what the compressed ones share with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.peer import FaissPeer, Setting, clusters_for, load_faiss
from hi2.types import Floats

PROBES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class FaissIVF(FaissPeer):
    """Clusters alone."""

    name = "faiss IVF-Flat"
    stats = "indexIVF_stats"

    def recipe(self, dim: int, n_lists: int) -> str:
        """Return what faiss's factory makes."""
        return f"IVF{n_lists},Flat"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Cluster, encode, file."""
        faiss = load_faiss()

        dim = vectors.shape[1]
        index = faiss.index_factory(dim, self.recipe(dim, clusters_for(len(vectors))), faiss.METRIC_INNER_PRODUCT)
        self.prepare(faiss, index)
        self.train(faiss, index, vectors, threads=threads)

    def prepare(self, faiss: Any, index: Any) -> None:
        """Set what a recipe cannot say."""

    def parameters(self, setting: Setting) -> Any:
        """Return the probes."""
        faiss = load_faiss()

        return faiss.SearchParametersIVF(nprobe=setting["nprobe"])

    def sweep(self) -> Sequence[Setting]:
        """Return rising numbers of probes."""
        return [{"nprobe": n} for n in self.probes()]

    def probes(self) -> list[int]:
        """Return the probes worth trying, as many as there are lists at most."""
        faiss = load_faiss()

        inner = getattr(self.index, "base_index", self.index)
        return [n for n in PROBES if n <= faiss.extract_index_ivf(inner).nlist]
