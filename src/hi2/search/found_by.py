"""What do hits know of the search that found them? The index as it was, the queries, and how they were searched for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hi2.data.ids import check_id
from hi2.search.candidates import FilterPerQuery
from hi2.search.effort import Effort
from hi2.search.explain import explain
from hi2.search.explanation import Explanation
from hi2.search.snippet import snippet
from hi2.state.index_state import State
from hi2.state.snapshot import stored_documents
from hi2.types import Id


class FoundBy:
    """A search and the state it saw: hits read their documents from it, as they were then."""

    __slots__ = ("_effort", "_filter", "_state", "_texts", "_vectors")

    def __init__(self, state: State, vectors: Any, texts: Any, effort: Effort, filter: Any) -> None:
        self._state = state
        self._vectors = vectors
        self._texts = texts
        self._effort = effort
        self._filter = filter

    def documents(self, ids: Sequence[Id]) -> list[dict[str, Any]]:
        """Return what is stored of some documents."""
        return stored_documents(self._state.snapshot, ids)

    def snippet(self, query: int, id: Id, text: str) -> str:
        """Return the best passage of a text for one of the queries."""
        return snippet(self._state.model, self._query(query)[1], text)

    def explain(self, query: int, id: Id) -> Explanation:
        """Return why a document was found for one of the queries."""
        vector, text = self._query(query)
        own = self._filter.filters[query] if isinstance(self._filter, FilterPerQuery) else self._filter
        return explain(self._state, vector, text, self._effort, id=check_id(id), filter=own)

    def _query(self, query: int) -> tuple[Any, str | None]:
        """The vector and the text of one of the queries."""
        single = isinstance(self._texts, str) if self._vectors is None else np.ndim(self._vectors) == 1
        text = self._texts if single or self._texts is None else list(self._texts)[query]
        return self._vectors if single or self._vectors is None else self._vectors[query], text
