"""Types that the whole library shares: arrays, hits, and whatever can be searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hi2.errors import InvalidParameter, described, invalid

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

    For one query ``ids`` and ``scores`` are 1-D and hold what was found. ``n_scored`` is the number of documents
    scored, ``counts`` the number of hits, ``n_term_lists`` the number of query terms that any document is filed under.
    For a batch ``ids`` and ``scores`` are (n, k), unfilled places hold -1 or None and -inf, and the numbers are (n,);
    ``hits[i]`` are the hits of the i-th query. With a filter ``complete`` says whether every document that passes was
    scored. With ``group_by`` ``groups`` holds the group of every hit.

    A search that ranks by meaning and words returns both parts beside the scores: ``dense`` and ``lexical``. Either is
    None where a search does not rank by it; the other is then the score, unless ``rerank`` gave another.

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
    complete: Any = None
    groups: Array | None = None
    dense: Floats | None = None
    lexical: Floats | None = None
    #: Explains a document for one of the queries: (query, id) → Explanation.
    why: Callable[[int, Id], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def batched(self) -> bool:
        """Whether this holds the hits of a batch of queries."""
        return self.ids.ndim == 2

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i: int) -> Any:
        """Return the hits of the i-th query of a batch, or the i-th (id, score) of one query."""
        if not self.batched:
            return self.ids[i].item() if self.ids.dtype != object else self.ids[i], float(self.scores[i])
        count, why = int(self.counts[i]), self.why
        return Hits(
            self.ids[i, :count],
            self.scores[i, :count],
            int(self.n_scored[i]),
            count,
            int(self.n_term_lists[i]),
            None if self.complete is None else bool(self.complete[i]),
            None if self.groups is None else self.groups[i, :count],
            None if self.dense is None else self.dense[i, :count],
            None if self.lexical is None else self.lexical[i, :count],
            None if why is None else lambda _, id: why(i, id),
        )

    def ranked_by_words(self, *, complete: Any) -> Hits:
        """Return these hits, whose scores are those of words alone."""
        return replace(self, dense=None, lexical=self.scores, complete=complete)

    def explained_by(self, why: Callable[[int, Id], Any]) -> Hits:
        """Attach what explains these hits, and return them. Every search does this once, so nothing is copied."""
        object.__setattr__(self, "why", why)
        return self

    def explain(self, rank: int | None = None) -> Any:
        """Return why the hit at ``rank`` (0 is the best) was found, or why each was; of a batch use ``hits[i]``."""
        if self.batched or self.why is None:
            raise InvalidParameter(
                "Only the hits of one query that an index gave explain themselves: hits[i].explain()."
            )
        if rank is None:
            return [self.why(0, id) for id, _ in self]
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not -len(self) <= rank < len(self):
            raise invalid("rank", f"the place of one of {len(self)} hits", described(rank))
        return self.why(0, self[int(rank)][0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


class Searcher(Protocol):
    """Anything that answers queries: a local index, a sharded one, another system.

    Evaluation measures searchers, and tuning tries settings through them.
    """

    def search(self, vectors: Any, texts: str | Sequence[str | None] | None = None, *, k: int = 10) -> Hits:
        """Return the ``k`` best hits of every query."""
        ...
