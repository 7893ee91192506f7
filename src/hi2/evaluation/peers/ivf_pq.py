"""An inverted file over product-quantised vectors: faiss IVF-PQ."""

from __future__ import annotations

from hi2.evaluation.peers.ivf import FaissIVF


class FaissIVFPQ(FaissIVF):
    """PQ at 32 times compression, over residuals to the centroid (Jégou et al., TPAMI 2011)."""

    name = "faiss IVF-PQ"

    def factory_string(self, dim: int, n_lists: int) -> str:
        """Return lists, and one byte per eight dimensions."""
        return f"IVF{n_lists},PQ{dim // 8}np"  # np: no polysemous training, which only polysemous search needs
