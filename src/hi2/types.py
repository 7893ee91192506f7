"""The shapes that cross the library: arrays, hits, and whatever can be searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
Id = int | str


@dataclass(frozen=True)
class Hits:
    """What a search found, best first, and what it cost.

    For a batch ``ids`` and ``scores`` are (n, k), unfilled places hold -1 or None and -inf, and the numbers below are
    (n,). For one query ``ids`` and ``scores`` are 1-D and hold exactly what was found, and the numbers are ints:
    ``n_scored`` documents scored, ``counts`` hits, ``n_term_lists`` query terms that any document is filed under.
    ``hits[i]`` is the i-th query of a batch as single-query hits.

    >>> import numpy as np
    >>> hits = Hits(np.array([7, 3]), np.array([0.9, 0.2], np.float32), n_scored=5, counts=2)
    >>> [(id, round(score, 1)) for id, score in hits]
    [(7, 0.9), (3, 0.2)]
    """

    ids: Array
    scores: Floats
    n_scored: Any
    counts: Any
    n_term_lists: Any = 0

    @property
    def batched(self) -> bool:
        """Whether this holds the hits of a batch of queries."""
        return self.ids.ndim == 2

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i: int) -> Any:
        """Return the i-th query's hits of a batch, or the i-th (id, score) of one query."""
        if not self.batched:
            return self.ids[i].item() if self.ids.dtype != object else self.ids[i], float(self.scores[i])
        count = int(self.counts[i])
        n_scored, n_term_lists = int(self.n_scored[i]), int(self.n_term_lists[i])
        return Hits(self.ids[i, :count], self.scores[i, :count], n_scored, count, n_term_lists)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


class Searcher(Protocol):
    """Whatever answers queries: a local index, a sharded one, a peer."""

    def search(self, vectors: Any, texts: str | Sequence[str | None] | None = None, *, k: int = 10) -> Hits:
        """Return the ``k`` best hits of every query."""
        ...
