"""An inverted file with 4-bit codes scanned in registers and exact rescoring: faiss IVF-PQ fast scan + refine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.peer import Setting, load_faiss


class FaissIVFFastScan(FaissIVF):
    """4-bit PQ with two dimensions per code. The best k · factor hits are rescored by full vectors."""

    name = "faiss IVF-PQfs+refine"

    def factory_string(self, dim: int, n_lists: int) -> str:
        """Return lists, codes, and full vectors for rescoring."""
        return f"IVF{n_lists},PQ{dim // 2}x4fs,RFlat"

    def search_parameters(self, setting: Setting) -> Any:
        """Return faiss's parameters with nprobe and the rescoring factor set."""
        return load_faiss().IndexRefineSearchParameters(
            k_factor=setting["factor"], base_index_params=super().search_parameters(setting)
        )

    def sweep(self) -> Sequence[Setting]:
        """Return increasing values of nprobe at three rescoring factors."""
        return [{"nprobe": n, "factor": factor} for n in self.nprobe_values() for factor in (1.5, 3, 6)]
