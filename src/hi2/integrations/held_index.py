"""Where is the index of a store? Given, in memory or in a folder; made with the first documents if there is none.

Changes of an index on disk are committed before the call that makes them returns.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hi2.data.fork import make_locks
from hi2.errors import NotFound, described, invalid
from hi2.index import HybridIndex
from hi2.integrations.metadata import changed_payloads, to_payloads

#: The dimension of an index whose documents have no vectors yet.
_NO_VECTORS = 1
#: A store that only reads looks for a later commit after so many seconds.
_REFRESH = 1.0

Vectors = Sequence[Sequence[float] | None]


class HeldIndex:
    """The index of a store, which comes to be with its first documents.

    ``dim`` may be left open: it is then that of the first vector. Documents that came before have none, and are filed
    again.
    """

    def __init__(
        self,
        index: HybridIndex | None = None,
        path: str | Path | None = None,
        *,
        mode: str = "w",
        dim: int | None = None,
        encoder: Any = None,
        metric: str = "cosine",
    ) -> None:
        if index is not None and not isinstance(index, HybridIndex):
            raise invalid("index", "a HybridIndex", described(index))
        if index is not None and path is not None:
            raise invalid("path", "left out where an index is given", described(path))
        if mode not in ("r", "w"):
            raise invalid("mode", "'w' to change the store or 'r' to search it", described(mode))
        if mode == "r" and path is None:
            raise invalid("mode", "'w' where no path is given", described(mode))
        make_locks(self)
        self._given = index is not None
        self._on_disk = path is not None or (index is not None and index.info()["path"] is not None)
        self._path = None if path is None else Path(path)
        self._mode, self._dim, self._encoder, self._metric = mode, dim, encoder, metric
        self._index = index if index is not None else self._opened()

    def renew_locks(self) -> None:
        """Make the lock of changes, at first and in a forked child."""
        self._lock = threading.RLock()

    def _opened(self) -> HybridIndex | None:
        if self._path is None:
            return None
        refresh = _REFRESH if self._mode == "r" else None
        try:
            return HybridIndex.open(self._path, self._mode, encoder=self._encoder, refresh=refresh)
        except NotFound:
            if self._mode == "r":
                raise
            return None  # made with the first documents

    @property
    def index(self) -> HybridIndex | None:
        """The index; None before the first documents."""
        return self._index

    def __len__(self) -> int:
        return 0 if self._index is None else len(self._index)

    def known(self, ids: Sequence[str]) -> set[str]:
        """Return which of these ids are in the index."""
        return {id for id in ids if self._index is not None and id in self._index}

    def upsert(
        self,
        vectors: Vectors | None,
        texts: Sequence[str],
        *,
        ids: Sequence[str],
        metadata: Sequence[Mapping[str, Any]],
        stored: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """File documents, replacing those whose ids exist. The last of several with one id counts."""
        last = {id: row for row, id in enumerate(ids)}
        rows = list(last.values())
        if not rows:
            return
        own = None if vectors is None else [vectors[row] for row in rows]
        dim = _dim_of(own)
        with self._lock:
            index = self._index = self._created(dim) if self._index is None else self._index
            payload = to_payloads(
                index, [metadata[row] for row in rows], None if stored is None else [stored[row] for row in rows]
            )
            given = [texts[row] for row in rows]
            if own is not None and dim not in (None, index.dim) and self._is_dim_open(index):
                self._index = self._made_anew(index, own, given, list(last), payload)
            else:
                index.upsert(own, given, ids=list(last), payload=payload)
                self._commit(index)

    def delete(self, ids: Sequence[str] | None = None, *, filter: Any = None) -> int:
        """Delete documents by id, those that pass a filter, or all without either, and return how many."""
        index = self._index
        if index is None:
            return 0
        with self._lock:
            chosen = index.ids(filter=filter) if ids is None else list(ids)
            count = index.delete(chosen, missing_ok=True)
            if count:
                self._commit(index)
            return count

    def clear(self, *, anew: bool = False) -> None:
        """Delete all documents. With ``anew`` the index is made again, and forgets its columns and its dimension."""
        with self._lock:
            if self._index is None:
                return
            if not anew or self._given:
                self.delete()
                return
            dim = None if self._encoder is not None else self._index.dim
            self._index.close()
            self._index = HybridIndex.create(
                dim=dim, encoder=self._encoder, metric=self._metric, path=self._path, overwrite=True
            )

    def update(self, filter: Any, change: Mapping[str, Any]) -> int:
        """Set keys of the metadata of all documents that pass a filter, and return how many there are."""
        index = self._index
        if index is None:
            return 0
        with self._lock:
            ids = index.ids(filter=filter)
            if ids:
                before = [own.get("payload", {}) for own in index.get(ids)]
                index.update(ids, payload=changed_payloads(index, before, change))
                self._commit(index)
            return len(ids)

    def close(self) -> None:
        """Release the writer's lock of an index that the store opened; one that was given stays open."""
        if self._index is not None and not self._given:
            self._index.close()

    def _commit(self, index: HybridIndex) -> None:
        if self._on_disk:
            index.commit()

    def _created(self, dim: int | None) -> HybridIndex:
        own = None if self._encoder is not None else self._dim or dim or _NO_VECTORS
        return HybridIndex.create(dim=own, encoder=self._encoder, metric=self._metric, path=self._path)

    def _is_dim_open(self, index: HybridIndex) -> bool:
        """Whether vectors of another dimension may come: none was declared, and no document has a vector."""
        undeclared = self._dim is None and self._encoder is None and not self._given and self._mode == "w"
        return undeclared and index.info()["n_without_vector"] == len(index)

    def _made_anew(
        self, index: HybridIndex, vectors: list[Any], texts: list[str], ids: list[str], payload: list[dict[str, Any]]
    ) -> HybridIndex:
        """Return an index of these documents and of those there were, whose words are all that there is of them."""
        replaced = set(ids)
        before = [own for batch in index.iterate() for own in batch if own["id"] not in replaced]
        index.close()
        try:
            return HybridIndex.build(
                [None] * len(before) + vectors,
                [own["text"] for own in before] + texts,
                ids=[own["id"] for own in before] + ids,
                payload=[own.get("payload", {}) for own in before] + payload,
                metric=self._metric,
                path=self._path,
                overwrite=True,
                progress=False,
            )
        except BaseException:
            self._index = index if self._path is None else self._opened()  # what was refused has changed nothing
            raise


def _dim_of(vectors: Vectors | None) -> int | None:
    """The dimension of the first vector; None if there is none."""
    return next((len(own) for own in vectors or () if own is not None), None)
