"""ScaNN: a tree, anisotropic 4-bit codes and exact rescoring."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hi2.evaluation.peers.ivf import NPROBE_VALUES
from hi2.evaluation.peers.peer import Peer, Setting, missing_extra
from hi2.types import Array, Floats


class ScaNN(Peer):
    """As its authors advise: 2 · √N leaves, two dimensions per block, threshold 0.2, rescoring by full vectors."""

    name = "ScaNN"
    index: Any

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Cluster, encode, and keep the vectors for rescoring."""
        try:
            import scann
        except ImportError as error:
            raise missing_extra("ScaNN", error) from error
        self._leaves = max(1, int(2 * np.sqrt(len(vectors))))
        builder = scann.scann_ops_pybind.builder(vectors, 100, "dot_product").set_n_training_threads(threads)
        sample = min(len(vectors), 250_000)
        builder = builder.tree(num_leaves=self._leaves, num_leaves_to_search=16, training_sample_size=sample)
        self.index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(300).build()

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search the leaves and rescore."""
        # Settings are for 100 hits; the rescoring depth grows with k.
        depth = max(setting["reorder"], setting["reorder"] * k // 100)
        rows: Array = self.index.search(vector, k, leaves_to_search=setting["leaves"], pre_reorder_num_neighbors=depth)[
            0
        ]
        return rows

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call; ScaNN chooses its threads."""
        self.index.search_batched_parallel(
            vectors, k, leaves_to_search=setting["leaves"], pre_reorder_num_neighbors=setting["reorder"]
        )
        return True

    def sweep(self) -> Sequence[Setting]:
        """Return increasing numbers of leaves at three rescoring depths."""
        return [
            {"leaves": n, "reorder": depth} for n in NPROBE_VALUES if n <= self._leaves for depth in (150, 300, 600)
        ]

    @property
    def n_bytes(self) -> int:
        """The size of the saved index."""
        with tempfile.TemporaryDirectory() as folder:
            self.index.serialize(folder)
            return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
