"""The hybrid inverted index itself, searched by vector and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hi2.codecs import OPQ, SQ8, CodecSpec, Flat, RaBitQ
from hi2.evaluation.peers.peer import Peer, Setting
from hi2.index import HybridIndex
from hi2.selectors.terms import BM25
from hi2.types import Array, Floats


class Hybrid(Peer):
    """The paper's ranking, by dense scores alone: one bit per dimension, rescored by one byte per dimension."""

    name = "hi2"
    codec: ClassVar[CodecSpec] = RaBitQ()
    refine: ClassVar[CodecSpec | None] = SQ8()
    depths: ClassVar[tuple[int, ...]] = (2, 3, 4, 6, 10)

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Tokenize, cluster and encode the documents."""
        self.index = HybridIndex.build(
            vectors,
            texts,
            terms=BM25(tokenizer="wordpiece"),
            codec=self.codec,
            refine=self.refine,
            keep_text=False,
            bags=False,
            threads=threads,
            progress=False,
        )

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search by vector and text."""
        return self.index.search(vector, text, k=k, **setting).ids

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call with this many threads."""
        self.index.search(vectors, list(texts), k=k, threads=threads, **setting)
        return True

    def candidates(self, vector: Floats, text: str, setting: Setting) -> tuple[Array, Array] | None:
        """Return all documents in the opened cluster lists, and all in the opened term lists."""
        options = {**setting, "k": len(self.index), "refine": 0}
        by_clusters = self.index.search(vector, text, **{**options, "terms": 0})
        by_terms = self.index.search(vector, text, **{**options, "clusters": 0})
        return by_clusters.ids, by_terms.ids

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int:
        """Return how many documents the query scores."""
        return int(self.index.search(vector, text, k=k, **setting).n_scored)

    def sweep(self) -> Sequence[Setting]:
        """Return combinations of clusters, terms per document and refine depth."""
        return [
            {"clusters": clusters, "per_doc": per_doc, "refine": depth}
            for clusters in (0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
            for per_doc in (3, 5, 7, 10, 15)
            for depth in self.depths
        ]

    @property
    def n_bytes(self) -> int:
        """The whole index; no texts are stored."""
        return self.bytes_by_part["total"]

    @property
    def bytes_by_part(self) -> dict[str, int]:
        """The bytes of codes, refine store, lists, ids and model."""
        return {part: int(size) for part, size in self.index.info()["bytes"].items()}


class HybridOPQ(Hybrid):
    """The paper's codec: OPQ at 32 times compression, without a refine store."""

    name = "hi2 OPQ"
    codec: ClassVar[CodecSpec] = OPQ()
    refine: ClassVar[CodecSpec | None] = None
    depths: ClassVar[tuple[int, ...]] = (0,)


class HybridFlat(HybridOPQ):
    """Candidates are scored exactly."""

    name = "hi2 Flat"
    codec: ClassVar[CodecSpec] = Flat()


class TermsOnly(Hybrid):
    """Term lists only."""

    name = "hi2 terms only"

    def sweep(self) -> Sequence[Setting]:
        """Return the settings that open no cluster list."""
        return [setting for setting in super().sweep() if setting["clusters"] == 0]


class ClustersOnly(Hybrid):
    """Cluster lists only: an inverted file with hi2's codecs."""

    name = "hi2 clusters only"

    def sweep(self) -> Sequence[Setting]:
        """Return settings that open no term list and more clusters."""
        return [
            {"clusters": clusters, "terms": 0, "refine": depth}
            for clusters in (1, 2, 4, 8, 16, 32, 64, 128, 192, 256)
            for depth in self.depths
        ]


class HybridCompact(Hybrid):
    """Two bits per dimension, relative to the centroid, without a refine store."""

    name = "hi2 compact"
    codec: ClassVar[CodecSpec] = RaBitQ(bits=2, residual=True)
    refine: ClassVar[CodecSpec | None] = None
    depths: ClassVar[tuple[int, ...]] = (0,)
