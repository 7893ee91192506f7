"""An inverted file with 4-bit codes in registers and exact rescoring: faiss IVF-PQ fast scan + refine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.peer import Setting, load_faiss


class FaissIVFFastScan(FaissIVF):
    """4-bit PQ of two dimensions each, the best k · factor rescored by full vectors."""

    name = "faiss IVF-PQfs+refine"

    def recipe(self, dim: int, n_lists: int) -> str:
        """Return lists, codes and the vectors for rescoring."""
        return f"IVF{n_lists},PQ{dim // 2}x4fs,RFlat"

    def parameters(self, setting: Setting) -> Any:
        """Return probes and depth."""
        return load_faiss().IndexRefineSearchParameters(
            k_factor=setting["factor"], base_index_params=super().parameters(setting)
        )

    def sweep(self) -> Sequence[Setting]:
        """Return rising probes at three depths."""
        return [{"nprobe": n, "factor": factor} for n in self.probes() for factor in (1.5, 3, 6)]
