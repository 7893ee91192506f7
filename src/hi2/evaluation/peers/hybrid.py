"""The hybrid inverted index itself, with its text path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hi2.codecs import OPQ, SQ8, CodecSpec, Flat, RaBitQ
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

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call with these threads."""
        self.index.search(vectors, list(texts), k=k, threads=threads, **setting)
        return True

    def candidates(self, vector: Floats, text: str, setting: Setting) -> tuple[Array, Array] | None:
        """Return all that either side's lists hold."""
        options = {**setting, "k": len(self.index), "refine": 0}
        by_clusters = self.index.search(vector, text, **{**options, "terms": 0})
        by_terms = self.index.search(vector, text, **{**options, "clusters": 0})
        return by_clusters.ids, by_terms.ids

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
        return self.bytes_by_part["total"]

    @property
    def bytes_by_part(self) -> dict[str, int]:
        """Codes, refine store, lists, ids and model."""
        return {part: int(size) for part, size in self.index.info()["bytes"].items()}


class HybridOPQ(Hybrid):
    """The paper's codec: OPQ at 32 times compression and no second store."""

    name = "hi2 OPQ"
    codec: ClassVar[CodecSpec] = OPQ()
    refine: ClassVar[CodecSpec | None] = None
    depths: ClassVar[tuple[int, ...]] = (0,)


class HybridFlat(HybridOPQ):
    """Exact scores of the candidates."""

    name = "hi2 Flat"
    codec: ClassVar[CodecSpec] = Flat()


class TermsOnly(Hybrid):
    """Without clusters."""

    name = "hi2, terms only"

    def sweep(self) -> Sequence[Setting]:
        """Return the settings that open no cluster."""
        return [setting for setting in super().sweep() if setting["clusters"] == 0]


class ClustersOnly(Hybrid):
    """Without terms: an inverted file with hi2's codecs."""

    name = "hi2, clusters only"

    def sweep(self) -> Sequence[Setting]:
        """Return the settings that open no term, and more clusters."""
        return [
            {"clusters": clusters, "terms": 0, "refine": depth}
            for clusters in (1, 2, 4, 8, 16, 32, 64, 128, 192, 256)
            for depth in self.depths
        ]


class HybridCompact(Hybrid):
    """Two bits a dimension, relative to the cluster, and no second store."""

    name = "hi2 compact"
    codec: ClassVar[CodecSpec] = RaBitQ(bits=2, residual=True)
    refine: ClassVar[CodecSpec | None] = None
    depths: ClassVar[tuple[int, ...]] = (0,)
