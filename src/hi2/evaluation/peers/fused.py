"""Two indexes behind one search: BM25 for words and a dense index for vectors. Subclasses say how hits are fused."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from hi2.evaluation.peers.bm25 import BM25s
from hi2.evaluation.peers.peer import FaissPeer, Peer, Setting, TunedPart
from hi2.types import Floats


class Fused(Peer):
    """BM25 and a dense index over the same documents, searched one after the other.

    A dense index with settings of its own is tuned by itself first. Until then it searches at its most expensive one.
    """

    dense: ClassVar[type[FaissPeer]]

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Build both indexes."""
        self._words, self._dense = BM25s(), self.dense()
        self._words.build(vectors, texts, threads=threads)
        self._dense.build(vectors, texts, threads=threads)
        self._dense_setting = self._dense.sweep()[-1]
        self._n = len(texts)

    @property
    def part(self) -> TunedPart | None:
        """The dense index, if it has settings."""
        return TunedPart(self._dense, self._use) if len(self._dense.sweep()) > 1 else None

    def _use(self, setting: Setting) -> None:
        self._dense_setting = setting

    @abstractmethod
    def fusions(self) -> Sequence[Setting]:
        """Return the settings of the fusion alone."""

    def sweep(self) -> Sequence[Setting]:
        """Return the settings of the fusion, each with that of the dense index."""
        return [{**own, **self._dense_setting} for own in self.fusions()]

    @property
    def n_bytes(self) -> int:
        """The bytes of both indexes."""
        return self._words.n_bytes + self._dense.n_bytes
