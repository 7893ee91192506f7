"""A graph over half-precision vectors: USearch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hi2.evaluation.peers.hnsw import EF_CONSTRUCTION, EF_SEARCH_VALUES, N_LINKS
from hi2.evaluation.peers.peer import Peer, Setting, missing_extra
from hi2.types import Array, Floats


class USearch(Peer):
    """USearch with float16 vectors and 32 links per node."""

    name = "usearch"
    index: Any

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Build the graph."""
        try:
            from usearch.index import Index
        except ImportError as error:
            raise missing_extra("USearch", error) from error
        self.index = Index(
            ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=N_LINKS, expansion_add=EF_CONSTRUCTION
        )
        self.index.add(np.arange(len(vectors)), vectors, threads=threads)

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search with the setting's expansion."""
        self.index.expansion_search = setting["expansion"]
        rows: Array = self.index.search(vector, k, threads=1).keys
        return rows

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call with this many threads."""
        self.index.expansion_search = setting["expansion"]
        self.index.search(vectors, k, threads=threads)
        return True

    def sweep(self) -> Sequence[Setting]:
        """Return increasing values of expansion."""
        return [{"expansion": effort} for effort in EF_SEARCH_VALUES]

    @property
    def n_bytes(self) -> int:
        """The size of the serialised index."""
        return int(self.index.serialized_length)
