"""What does a system have to do to be compared? Be built once, answer one query at a time, name its settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hi2.errors import MissingExtra
from hi2.types import Array, Floats

Setting = Mapping[str, Any]


class Peer(ABC):
    """A system under test. Documents are named by their rows, vectors have unit length, searches use one thread."""

    name: ClassVar[str]
    #: What the system must be given beside vectors and texts, None if nothing.
    needs: ClassVar[str | None] = None

    @abstractmethod
    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the documents."""

    @abstractmethod
    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Return the rows of the ``k`` best documents; called for one query at a time, timed from call to return."""

    @abstractmethod
    def sweep(self) -> Sequence[Setting]:
        """Return the settings worth trying, cheapest first as far as that is known."""

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """All bytes needed to search, a refine store included."""

    @property
    def bytes_by_part(self) -> dict[str, int]:
        """The bytes of every part, where a system can tell them apart."""
        return {"total": self.n_bytes}

    def scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return how many documents a query scores, None where the system does not say."""
        return None

    def candidates(self, vector: Floats, text: str, setting: Setting) -> tuple[Array, Array] | None:
        """Return the rows a query meets by clusters and by terms, None where the system has no such lists."""
        return None

    def asked(self, vector: Floats) -> Floats:
        """Return the query as the system scores it: itself, unless the system has learned to map queries."""
        return vector

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search many at once with these threads; return whether the system can. Only its time is looked at."""
        return False


def extra(name: str, error: ImportError, which: str = "peers") -> MissingExtra:
    """Return the error for a system that is not installed."""
    return MissingExtra(f"{name} needs an extra; install it with: pip install 'hi2[{which}]' ({error})")


def load_faiss() -> Any:
    """Return the module; its stubs know no search parameters."""
    import faiss

    return faiss


class FaissPeer(Peer):
    """What the systems of faiss share."""

    index: Any
    #: faiss's counter of distances, None where it keeps none.
    stats: ClassVar[str | None] = None

    def train(self, faiss: Any, index: Any, vectors: Floats, *, threads: int) -> None:
        """Train and fill an index with all threads, then leave one for searching."""
        faiss.omp_set_num_threads(threads)
        index.train(vectors)
        index.add(vectors)
        faiss.omp_set_num_threads(1)
        self.index = index

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search with the setting applied."""
        rows: Array = self.index.search(vector[None], k, params=self.parameters(setting))[1][0]
        return rows

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call with these threads."""
        faiss = load_faiss()

        faiss.omp_set_num_threads(threads)
        self.index.search(vectors, k, params=self.parameters(setting))
        faiss.omp_set_num_threads(1)
        return True

    def parameters(self, setting: Setting) -> Any:
        """Return faiss's search parameters for a setting."""
        return None

    def scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return the distances faiss counted."""
        if self.stats is None:
            return None
        counter = getattr(load_faiss().cvar, self.stats)
        counter.reset()
        self.search(vector, text, k, setting)
        return int(counter.ndis)

    @property
    def n_bytes(self) -> int:
        """The size of the serialised index."""
        faiss = load_faiss()

        return int(faiss.serialize_index(self.index).nbytes)


def clusters_for(n_docs: int) -> int:
    """Return the usual number of lists of an inverted file: 4 · √N, at most what 39 points a list can train."""
    return max(1, min(int(4 * np.sqrt(n_docs)), n_docs // 39 or 1))
