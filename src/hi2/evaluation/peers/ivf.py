"""An inverted file over full vectors: faiss IVF-Flat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.peer import FaissPeer, Setting, clusters_for, load_faiss
from hi2.types import Floats

PROBES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class FaissIVF(FaissPeer):
    """Clusters alone."""

    name = "faiss IVF-Flat"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Cluster and file."""
        faiss = load_faiss()

        dim, n_lists = vectors.shape[1], clusters_for(len(vectors))
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, n_lists, faiss.METRIC_INNER_PRODUCT)
        self.train(faiss, index, vectors, threads=threads)

    def parameters(self, setting: Setting) -> Any:
        """Return the probes."""
        faiss = load_faiss()

        return faiss.SearchParametersIVF(nprobe=setting["nprobe"])

    def sweep(self) -> Sequence[Setting]:
        """Return rising numbers of probes."""
        return [{"nprobe": n} for n in PROBES if n <= self.index.nlist]
