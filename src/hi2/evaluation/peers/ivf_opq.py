"""An inverted file over compressed vectors: faiss IVF-OPQ, the baseline of the paper."""

from __future__ import annotations

from typing import Any

from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.peer import Setting, load_faiss


class FaissIVFOPQ(FaissIVF):
    """OPQ at 32 times compression, over residuals to the centroid."""

    name = "faiss IVF-OPQ"

    def factory_string(self, dim: int, n_lists: int) -> str:
        """Return a rotation, lists, and one byte per eight dimensions."""
        return f"OPQ{dim // 8},IVF{n_lists},PQ{dim // 8}np"  # np: no polysemous training

    def configure(self, faiss: Any, index: Any) -> None:
        """Train the rotation for 12 rounds. It hardly improves after that, and faiss's 50 rounds take minutes."""
        rotation = faiss.downcast_VectorTransform(index.chain.at(0))
        rotation.niter, rotation.max_train_points = 12, 32 * 1024

    def search_parameters(self, setting: Setting) -> Any:
        """Return faiss's parameters with nprobe set behind the rotation."""
        return load_faiss().SearchParametersPreTransform(index_params=super().search_parameters(setting))
