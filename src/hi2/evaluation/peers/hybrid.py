"""The hybrid inverted index itself, with its text path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hi2.codecs import SQ8, CodecSpec, RaBitQ
from hi2.evaluation.peers.peer import Peer, Setting
from hi2.index import HybridIndex
from hi2.types import Array, Floats


class Hybrid(Peer):
    """One bit a dimension, rescored by bytes."""

    name = "hi2"
    codec: ClassVar[CodecSpec] = RaBitQ()
    refine: ClassVar[CodecSpec | None] = SQ8()
    depths: ClassVar[tuple[int, ...]] = (2, 3, 4, 6, 10)

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Tokenize, cluster, encode."""
        self.index = HybridIndex.build(
            vectors, texts, codec=self.codec, refine=self.refine, threads=threads, progress=False
        )

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search by vector and text."""
        return self.index.search(vector, text, k=k, **setting).ids

    def scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int:
        """Return how many documents a query scores."""
        return int(self.index.search(vector, text, k=k, **setting).n_scored)

    def sweep(self) -> Sequence[Setting]:
        """Return clusters, terms a document and depths."""
        return [
            {"clusters": clusters, "per_doc": per_doc, "refine": depth}
            for clusters in (0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
            for per_doc in (3, 5, 7, 10, 15)
            for depth in self.depths
        ]

    @property
    def n_bytes(self) -> int:
        """Everything but stored text, of which there is none."""
        return int(self.index.info()["bytes"]["total"])


class HybridCompact(Hybrid):
    """Two bits a dimension, relative to the cluster, and no second store."""

    name = "hi2 compact"
    codec: ClassVar[CodecSpec] = RaBitQ(bits=2, residual=True)
    refine: ClassVar[CodecSpec | None] = None
    depths: ClassVar[tuple[int, ...]] = (0,)
