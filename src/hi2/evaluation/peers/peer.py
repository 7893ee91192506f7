"""What must a system do to be compared? Build once, answer one query at a time and list its settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hi2.errors import MissingExtra
from hi2.types import Array, Floats

Setting = Mapping[str, Any]


class Peer(ABC):
    """A system under test. Documents are identified by row, vectors have unit length, and searches use one thread."""

    name: ClassVar[str]
    #: What the system needs besides vectors and texts; None if nothing.
    needs: ClassVar[str | None] = None

    @abstractmethod
    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Index the documents."""

    @abstractmethod
    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Return the rows of the ``k`` best documents for one query. Latency is the time of this call."""

    @abstractmethod
    def sweep(self) -> Sequence[Setting]:
        """Return the settings worth trying, roughly from cheap to expensive."""

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """All bytes needed to search, including a refine store."""

    @property
    def bytes_by_part(self) -> dict[str, int]:
        """The bytes of every part, if the system reports them."""
        return {"total": self.n_bytes}

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return how many documents the query scores, None if the system does not report it."""
        return None

    def candidates(self, vector: Floats, text: str, setting: Setting) -> tuple[Array, Array] | None:
        """Return the candidate rows from cluster lists and from term lists, None if the system has no such lists."""
        return None

    @property
    def part(self) -> TunedPart | None:
        """The part that is tuned by itself before the whole is swept; None if there is none."""
        return None

    def asked(self, vector: Floats) -> Floats:
        """Return the query vector as the system scores it; it differs only if the system maps queries."""
        return vector

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search a batch with this many threads. Return False if the system has no batch search; hits are not used."""
        return False


@dataclass(frozen=True)
class TunedPart:
    """A system inside another one. ``use`` searches it with a setting, whatever the setting of the whole is."""

    peer: Peer
    use: Callable[[Setting], None]


def missing_extra(name: str, error: ImportError, which: str = "peers") -> MissingExtra:
    """Return the error for a system whose package is not installed."""
    return MissingExtra(f"{name} needs an extra; install it with: pip install 'hi2[{which}]' ({error})")


def load_faiss() -> Any:
    """Return faiss, untyped because its stubs lack search parameters."""
    import faiss

    return faiss


def inner_products(vectors: Floats, vector: Floats) -> Floats:
    """Return the inner products of contiguous float32 rows with a vector, on one thread, as fast as brute force.

    >>> inner_products(np.array([[1, 2], [3, 4]], np.float32), np.array([10, 1], np.float32)).tolist()
    [12.0, 34.0]
    """
    faiss = load_faiss()

    found = np.empty(len(vectors), np.float32)
    pointers = (faiss.swig_ptr(array) for array in (found, vector, vectors))
    faiss.fvec_inner_products_ny(*pointers, vectors.shape[1], len(vectors))
    return found


class FaissPeer(Peer):
    """Base class of the systems in faiss."""

    index: Any
    #: The name of faiss's distance counter; None if it has none for this index.
    stats: ClassVar[str | None] = None

    def train_and_add(self, faiss: Any, index: Any, vectors: Floats, *, threads: int) -> None:
        """Train and fill an index with this many threads, then set one thread for searches."""
        faiss.omp_set_num_threads(threads)
        index.train(vectors)
        index.add(vectors)
        faiss.omp_set_num_threads(1)
        self.index = index

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search with the setting applied."""
        return self.search_scores(vector, k, setting)[0]

    def search_scores(self, vector: Floats, k: int, setting: Setting) -> tuple[Array, Floats]:
        """Return the rows of the ``k`` best documents and their scores. A row is -1 where fewer were found."""
        scores, rows = self.index.search(vector[None], k, params=self.search_parameters(setting))
        return rows[0], scores[0]

    @property
    def stored_vectors(self) -> Floats:
        """The vectors in the index, not a copy. Only of indexes that store them as they are."""
        faiss = load_faiss()

        store = faiss.downcast_index(getattr(self.index, "storage", self.index))
        whole: Floats = faiss.rev_swig_ptr(store.get_xb(), store.ntotal * store.d)
        return whole.reshape(store.ntotal, store.d)

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call with this many threads."""
        faiss = load_faiss()

        faiss.omp_set_num_threads(threads)
        self.index.search(vectors, k, params=self.search_parameters(setting))
        faiss.omp_set_num_threads(1)
        return True

    def search_parameters(self, setting: Setting) -> Any:
        """Return faiss's search parameters for a setting."""
        return None

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int | None:
        """Return the number of distances that faiss counted."""
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


def n_lists_for(n_docs: int) -> int:
    """Return the usual number of lists, 4 · √N, but at most one per 39 documents, faiss's minimum for training."""
    return max(1, min(int(4 * np.sqrt(n_docs)), n_docs // 39 or 1))
