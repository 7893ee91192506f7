"""An inverted file over compressed vectors: faiss IVF-OPQ, the baseline of the paper."""

from __future__ import annotations

from typing import Any

from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.peer import Setting, load_faiss


class FaissIVFOPQ(FaissIVF):
    """OPQ at 32 times compression, residual to the cluster."""

    name = "faiss IVF-OPQ"

    def recipe(self, dim: int, n_lists: int) -> str:
        """Return rotation, lists and one byte for eight dimensions."""
        return f"OPQ{dim // 8},IVF{n_lists},PQ{dim // 8}np"  # np: no polysemous training

    def prepare(self, faiss: Any, index: Any) -> None:
        """Train the rotation for as long as it improves; faiss's 50 rounds take minutes."""
        rotation = faiss.downcast_VectorTransform(index.chain.at(0))
        rotation.niter, rotation.max_train_points = 12, 32 * 1024

    def parameters(self, setting: Setting) -> Any:
        """Return the probes, behind the rotation."""
        return load_faiss().SearchParametersPreTransform(index_params=super().parameters(setting))
