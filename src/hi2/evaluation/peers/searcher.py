"""Any searcher as a system under test: a local index, a sharded one, or your own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.errors import invalid
from hi2.evaluation.peers.peer import Peer, Setting
from hi2.types import Array, Floats, Hits, Id, Searcher


class SearcherPeer(Peer):
    """A searcher that is already built, at its default setting.

    ``ids`` are the ids of the documents by row; hits must carry these ids.
    """

    name = "searcher"

    def __init__(self, searcher: Searcher, ids: Sequence[Id]) -> None:
        self._searcher = searcher
        self._rows = {id: row for row, id in enumerate(ids)}

    def build(self, vectors: Floats, texts: Sequence[str], *, threads: int) -> None:
        """Do nothing: the searcher is already built."""

    def search(self, vector: Floats, text: str, k: int, setting: Setting) -> Array:
        """Search for one query and return the rows of its hits."""
        return np.array([self._row(id) for id in self._hits(vector, text, k).ids.tolist()], np.int64)

    def search_batch(self, vectors: Floats, texts: Sequence[str], k: int, setting: Setting, *, threads: int) -> bool:
        """Search in one call; the searcher chooses its threads."""
        self._searcher.search(vectors, list(texts), k=k)
        return True

    def count_scored(self, vector: Floats, text: str, k: int, setting: Setting) -> int:
        """Return how many documents the query scores."""
        return int(self._hits(vector, text, k).n_scored)

    def sweep(self) -> Sequence[Setting]:
        """Return the only setting."""
        return [{}]

    @property
    def n_bytes(self) -> int:
        """0, because a searcher does not report its size."""
        return 0

    def _hits(self, vector: Floats, text: str, k: int) -> Hits:
        return self._searcher.search(vector, text, k=k)

    def _row(self, id: Id) -> int:
        if id not in self._rows:
            raise invalid("searcher", "an index of this collection, with the ids of its documents", f"a hit {id!r}")
        return self._rows[id]
