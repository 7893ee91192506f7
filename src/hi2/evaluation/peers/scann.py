"""ScaNN: tree, anisotropic 4-bit codes, exact rescoring."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hi2.evaluation.peers.ivf import PROBES
from hi2.evaluation.peers.peer import Peer, Setting, extra
from hi2.types import Array, Floats


class ScaNN(Peer):
    """As its authors advise: 2 · √N leaves, two dimensions a block, threshold 0.2, rescoring by full vectors."""

    name = "ScaNN"
    index: Any

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Cluster, encode, keep the vectors for rescoring."""
        try:
            import scann
        except ImportError as error:
            raise extra("ScaNN", error) from error
        self._leaves = max(1, int(2 * np.sqrt(len(vectors))))
        builder = scann.scann_ops_pybind.builder(vectors, 100, "dot_product").set_n_training_threads(threads)
        sample = min(len(vectors), 250_000)
        builder = builder.tree(num_leaves=self._leaves, num_leaves_to_search=16, training_sample_size=sample)
        self.index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(300).build()

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search leaves and rescore."""
        # Settings are for a hundred hits; more are rescored where more are asked for.
        depth = max(setting["reorder"], setting["reorder"] * k // 100)
        rows: Array = self.index.search(vector, k, leaves_to_search=setting["leaves"], pre_reorder_num_neighbors=depth)[
            0
        ]
        return rows

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call, as parallel as it likes."""
        self.index.search_batched_parallel(
            vectors, k, leaves_to_search=setting["leaves"], pre_reorder_num_neighbors=setting["reorder"]
        )
        return True

    def sweep(self) -> Sequence[Setting]:
        """Return rising leaves at three depths."""
        return [{"leaves": n, "reorder": depth} for n in PROBES if n <= self._leaves for depth in (150, 300, 600)]

    @property
    def n_bytes(self) -> int:
        """The size of what it writes to disk."""
        with tempfile.TemporaryDirectory() as folder:
            self.index.serialize(folder)
            return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
