"""hi2 ranking by words too: by meaning and words together, or by words alone."""

from __future__ import annotations

from collections.abc import Sequence

from hi2.evaluation.peers.hybrid import Hybrid
from hi2.evaluation.peers.peer import Setting
from hi2.index import HybridIndex
from hi2.types import Array, Floats

#: Weights of words that are tried where the weight is tuned; None is the default.
WEIGHTS = (None, 0.0, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0)


class HybridWords(Hybrid):
    """The default index with the default weight of words."""

    name = "hi2 words"

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Tokenize, cluster and encode the documents, and keep their bags."""
        self.index = HybridIndex.build(vectors, texts, keep_text=False, threads=threads, progress=False)

    def sweep(self) -> Sequence[Setting]:
        """Return the default setting."""
        return [{}]


class HybridWordsTuned(HybridWords):
    """The default index with a weight of words that is chosen on the tuning questions."""

    name = "hi2 words tuned"

    def sweep(self) -> Sequence[Setting]:
        """Return weights of words."""
        return [{} if weight is None else {"lexical": weight} for weight in WEIGHTS]


class HybridVectors(HybridWords):
    """The default index, ranked by vectors alone: what ranking by words costs is the difference."""

    name = "hi2 words lexical=0"

    def sweep(self) -> Sequence[Setting]:
        """Return the only setting."""
        return [{"lexical": 0.0}]


class WordsAlone(HybridWords):
    """The same index, searched by text alone: BM25 over the bags of all documents."""

    name = "hi2 text alone"

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search by text."""
        return self.index.search(None, text, k=k).ids

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call with this many threads."""
        self.index.search(None, list(texts), k=k, threads=threads)
        return True

    def candidates(self, vector: Floats, text: str, setting: Setting) -> tuple[Array, Array] | None:
        """Return None: no lists are opened."""
        return None

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int:
        """Return how many bags the query reads."""
        return int(self.index.search(None, text, k=k).n_scored)
