"""An inverted file over compressed vectors: faiss IVF-OPQ, the baseline of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.ivf import PROBES
from hi2.evaluation.peers.peer import FaissPeer, Setting, clusters_for, load_faiss
from hi2.types import Floats


class FaissIVFOPQ(FaissPeer):
    """OPQ at 32 times compression, residual to the cluster."""

    name = "faiss IVF-OPQ"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Rotate, cluster, encode."""
        faiss = load_faiss()

        dim = vectors.shape[1]
        recipe = f"OPQ{dim // 8},IVF{clusters_for(len(vectors))},PQ{dim // 8}"
        index = faiss.index_factory(dim, recipe, faiss.METRIC_INNER_PRODUCT)
        rotation = faiss.downcast_VectorTransform(index.chain.at(0))
        rotation.niter, rotation.max_train_points = 12, 32 * 1024  # settled by then; 50 rounds take minutes
        self.train(faiss, index, vectors, threads=threads)

    def parameters(self, setting: Setting) -> Any:
        """Return the probes, behind the rotation."""
        faiss = load_faiss()

        return faiss.SearchParametersPreTransform(index_params=faiss.SearchParametersIVF(nprobe=setting["nprobe"]))

    def sweep(self) -> Sequence[Setting]:
        """Return rising numbers of probes."""
        faiss = load_faiss()

        return [{"nprobe": n} for n in PROBES if n <= faiss.extract_index_ivf(self.index).nlist]
