"""Inverted files of faiss: the one over full vectors, and the base class of the compressed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.peer import FaissPeer, Setting, load_faiss, n_lists_for
from hi2.types import Floats

NPROBE_VALUES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class FaissIVF(FaissPeer):
    """Clusters over full vectors."""

    name = "faiss IVF-Flat"
    stats = "indexIVF_stats"

    def factory_string(self, dim: int, n_lists: int) -> str:
        """Return the description for faiss's index factory."""
        return f"IVF{n_lists},Flat"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Cluster and encode the documents."""
        faiss = load_faiss()

        dim = vectors.shape[1]
        index = faiss.index_factory(
            dim, self.factory_string(dim, n_lists_for(len(vectors))), faiss.METRIC_INNER_PRODUCT
        )
        self.configure(faiss, index)
        self.train_and_add(faiss, index, vectors, threads=threads)

    def configure(self, faiss: Any, index: Any) -> None:
        """Set what a factory string cannot express."""

    def search_parameters(self, setting: Setting) -> Any:
        """Return faiss's parameters with nprobe set."""
        faiss = load_faiss()

        return faiss.SearchParametersIVF(nprobe=setting["nprobe"])

    def sweep(self) -> Sequence[Setting]:
        """Return increasing values of nprobe."""
        return [{"nprobe": n} for n in self.nprobe_values()]

    def nprobe_values(self) -> list[int]:
        """Return the values of nprobe up to the number of lists."""
        faiss = load_faiss()

        inner = getattr(self.index, "base_index", self.index)
        return [n for n in NPROBE_VALUES if n <= faiss.extract_index_ivf(inner).nlist]
