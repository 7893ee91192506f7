"""An inverted file with 4-bit codes in registers and exact rescoring: faiss IVF-PQ fast scan + refine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.ivf import PROBES
from hi2.evaluation.peers.peer import FaissPeer, Setting, clusters_for, load_faiss
from hi2.types import Floats


class FaissIVFFastScan(FaissPeer):
    """4-bit PQ of two dimensions each, the best k · factor rescored by full vectors."""

    name = "faiss IVF-PQfs+refine"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Cluster, encode, keep the vectors for rescoring."""
        faiss = load_faiss()

        dim = vectors.shape[1]
        recipe = f"IVF{clusters_for(len(vectors))},PQ{dim // 2}x4fs,RFlat"
        index = faiss.index_factory(dim, recipe, faiss.METRIC_INNER_PRODUCT)
        self.train(faiss, index, vectors, threads=threads)

    def parameters(self, setting: Setting) -> Any:
        """Return probes and depth."""
        faiss = load_faiss()

        return faiss.IndexRefineSearchParameters(
            k_factor=setting["factor"], base_index_params=faiss.SearchParametersIVF(nprobe=setting["nprobe"])
        )

    def sweep(self) -> Sequence[Setting]:
        """Return rising probes at three depths."""
        faiss = load_faiss()

        n_lists = faiss.extract_index_ivf(self.index.base_index).nlist
        return [{"nprobe": n, "factor": f} for n in PROBES if n <= n_lists for f in (1.5, 3, 6)]
