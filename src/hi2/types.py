"""Types that the whole library shares: arrays, hits, and whatever can be searched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from hi2.errors import InvalidParameter, MissingExtra, described, invalid

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Id = int | str


class HitSource(Protocol):
    """Where hits come from: it reads what is stored of them, and explains them."""

    def documents(self, ids: Sequence[Id]) -> list[dict[str, Any]]:
        """Return what is stored of some documents: mappings with ``text`` and ``payload`` where they are stored."""
        ...

    def snippet(self, query: int, id: Id, text: str) -> str:
        """Return the best passage of a document's text for one of the queries."""
        ...

    def explain(self, query: int, id: Id) -> Any:
        """Return why a document was found for one of the queries."""
        ...


class Hit(tuple[Id, float]):
    """One hit, a pair ``(id, score)``, with what the index stores of the document. It is read when it is first used.

    >>> hit = Hit(7, 0.5)
    >>> id, score = hit
    >>> hit.id, hit.score, hit.text, hit.payload
    (7, 0.5, None, {})
    """

    id: Id
    score: float
    _source: HitSource | None
    _query: int
    _stored: dict[str, Any] | None

    def __new__(cls, id: Id, score: float, source: HitSource | None = None, query: int = 0) -> Hit:
        """Return the pair; ``source`` reads the document for the given query."""
        hit = super().__new__(cls, (id, score))
        hit.id, hit.score, hit._source, hit._query, hit._stored = id, score, source, query, None
        return hit

    def _document(self) -> dict[str, Any]:
        if self._stored is None:
            self._stored = {} if self._source is None else self._source.documents([self.id])[0]
        return self._stored

    @property
    def text(self) -> str | None:
        """The text of the document; None if the index does not keep it."""
        return self._document().get("text")

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the document; empty if it has none."""
        payload: dict[str, Any] = self._document().get("payload", {})
        return payload

    @property
    def snippet(self) -> str | None:
        """The passage of the text that fits the query best, words that matched between ``**``; None without text."""
        if self.text is None or self._source is None:
            return None
        return self._source.snippet(self._query, self.id, self.text)

    def __reduce__(self) -> Any:
        kept = None if self._source is None else KeptDocuments.of(self._source, [(self._query, [self.id])])
        return Hit, (self.id, self.score, kept, self._query)

    def __repr__(self) -> str:
        return f"Hit(id={self.id!r}, score={self.score:.4g})"


@dataclass(frozen=True)
class KeptDocuments:
    """What hits that were pickled still know: the texts, payloads and snippets of their documents."""

    kept: dict[Id, dict[str, Any]]
    snippets: dict[tuple[int, Id], str]

    @classmethod
    def of(cls, source: HitSource, found: Sequence[tuple[int, Sequence[Id]]]) -> KeptDocuments:
        """Return what is stored of the documents that queries found."""
        ids = list(dict.fromkeys(id for _, own in found for id in own))
        kept = dict(zip(ids, source.documents(ids), strict=True))
        texts = {id: own["text"] for id, own in kept.items() if own.get("text") is not None}
        pairs = [(query, id) for query, own in found for id in own if id in texts]
        return cls(kept, {(query, id): source.snippet(query, id, texts[id]) for query, id in pairs})

    def documents(self, ids: Sequence[Id]) -> list[dict[str, Any]]:
        """Return what was kept of some documents."""
        return [self.kept[id] for id in ids]

    def snippet(self, query: int, id: Id, text: str) -> str:
        """Return the passage that was kept."""
        return self.snippets[query, id]

    def explain(self, query: int, id: Id) -> Any:
        """Refuse: the index is not here."""
        raise InvalidParameter(
            "Hits that were pickled do not explain themselves: ask the index, index.explain(…, id=…)."
        )


@dataclass(frozen=True, repr=False)
class Hits:
    """What a search found, best first, and what it cost.

    For one query ``ids`` and ``scores`` are 1-D and hold what was found. ``n_scored`` is the number of documents
    scored, ``counts`` the number of hits, ``n_term_lists`` the number of query terms that any document is filed under.
    For a batch ``ids`` and ``scores`` are (n, k), unfilled places hold -1 or None and -inf, and the numbers are (n,);
    ``hits[i]`` are the hits of the i-th query. With a filter ``complete`` says whether every document that passes was
    scored. With ``group_by`` ``groups`` holds the group of every hit.

    ``for hit in hits`` gives each hit with its ``id``, ``score``, ``text``, ``payload`` and ``snippet``, read when they
    are asked for. Pickled hits carry them.

    A search that ranks by meaning and words returns both parts beside the scores: ``dense`` and ``lexical``. Either is
    None where a search does not rank by it; the other is then the score, unless ``rerank`` gave another.

    >>> import numpy as np
    >>> hits = Hits(np.array([7, 3]), np.array([0.9, 0.2], np.float32), n_scored=5, counts=2)
    >>> [(id, round(score, 1)) for id, score in hits]
    [(7, 0.9), (3, 0.2)]
    >>> hits
    <2 hits: 7 (0.9), 3 (0.2); 5 documents scored>
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
    #: Reads and explains the documents, and the number of the query among those of the search.
    source: HitSource | None = field(default=None, compare=False)
    query: int = field(default=0, compare=False)

    @property
    def batched(self) -> bool:
        """Whether this holds the hits of a batch of queries."""
        return self.ids.ndim == 2

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, i: int) -> Hit: ...

    @overload
    def __getitem__(self, i: slice) -> list[Hit]: ...

    def __getitem__(self, i: int | slice) -> Any:
        """Return the i-th hit of one query, or the hits of the i-th query of a batch; of a slice, a list of them.

        For type checkers these are hits of one query. ``each`` has the hits of the queries of a batch.
        """
        if isinstance(i, slice):
            return [self[place] for place in range(len(self))[i]]
        if not self.batched:
            id = self.ids[i].item() if self.ids.dtype != object else self.ids[i]
            return Hit(id, float(self.scores[i]), self.source, self.query)
        i = range(len(self.ids))[i]
        count = int(self.counts[i])
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
            self.source,
            i,
        )

    def __iter__(self) -> Iterator[Hit]:
        return (self[i] for i in range(len(self)))

    @property
    def each(self) -> list[Hits]:
        """The hits of each query of a batch; of one query, a list with its hits alone."""
        found: list[Any] = list(self) if self.batched else [self]
        return found

    def __repr__(self) -> str:
        if self.batched:
            found = int(np.sum(self.counts))
            return f"<{found} {_hits(found)} of {len(self)} queries; {int(np.sum(self.n_scored))} documents scored>"
        shown = ", ".join(f"{hit.id!r} ({hit.score:.4g})" for hit in (self[i] for i in range(min(len(self), _SHOWN))))
        more = ", …" if len(self) > _SHOWN else ""
        return f"<{len(self)} {_hits(len(self))}{': ' if shown else ''}{shown}{more}; {self.n_scored} documents scored>"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if self.source is not None:
            state["source"] = KeptDocuments.of(self.source, [(own.query, own._found()) for own in self.each])
        return state

    def _found(self) -> list[Id]:
        found: list[Id] = self.ids.tolist()
        return found

    def ranked_by_words(self, *, complete: Any) -> Hits:
        """Return these hits, whose scores are those of words alone."""
        return replace(self, dense=None, lexical=self.scores, complete=complete)

    def coming_from(self, source: HitSource) -> Hits:
        """Attach what reads and explains these hits, and return them. Every search does this once, without a copy."""
        object.__setattr__(self, "source", source)
        return self

    def explain(self, rank: int | None = None) -> Any:
        """Return why the hit at ``rank`` (0 is the best) was found, or why each was; of a batch use ``hits[i]``."""
        if self.batched or self.source is None:
            raise InvalidParameter(
                "Only the hits of one query that an index gave explain themselves: hits[i].explain()."
            )
        if rank is None:
            return [self.source.explain(self.query, id) for id in self._found()]
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not -len(self) <= rank < len(self):
            raise invalid("rank", f"the place of one of {len(self)} hits", described(rank))
        return self.source.explain(self.query, self[int(rank)].id)

    # -- for other programs -------------------------------------------------------------------------------------------

    def to_dicts(self) -> list[Any]:
        """Return each hit as a mapping of ``id``, ``score``, ``text`` and ``payload``; of a batch, one list per query.

        ``group`` is there after a search with ``group_by``. ``text`` is None where the index keeps none.
        """
        if self.batched:
            return [own.to_dicts() for own in self.each]
        ids = self._found()
        stored: Sequence[Mapping[str, Any]] = [{}] * len(ids) if self.source is None else self.source.documents(ids)
        rows = [
            {"id": id, "score": score, "text": own.get("text"), "payload": own.get("payload", {})}
            for id, score, own in zip(ids, self.scores.tolist(), stored, strict=True)
        ]
        if self.groups is not None:
            for row, group in zip(rows, self.groups.tolist(), strict=True):
                row["group"] = group
        return rows

    def _rows(self) -> dict[str, list[Any]]:
        """The columns of a table of the hits; those of a batch have the number of their query."""
        rows = [{"query": i, **row} for i, own in enumerate(self.each) for row in own.to_dicts()]
        names = ["query"] * self.batched + ["id", "score", "text", "payload"] + ["group"] * (self.groups is not None)
        return {name: [row[name] for row in rows] for name in names}

    def to_pandas(self) -> Any:
        """Return the hits as a pandas DataFrame, one row per hit; of a batch with the number of the ``query``."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtra("A DataFrame needs pandas; install it with: pip install pandas") from error
        return pandas.DataFrame(self._rows())

    def to_arrow(self) -> Any:
        """Return the hits as a pyarrow Table, as ``to_pandas`` does; ``payload`` is JSON text."""
        try:
            import pyarrow
        except ImportError as error:
            raise MissingExtra("An Arrow table needs an extra; install it with: pip install 'hi2[parquet]'") from error
        columns = self._rows()
        columns["payload"] = [json.dumps(own, ensure_ascii=False) for own in columns["payload"]]
        text, number = pyarrow.string(), pyarrow.float64()
        kinds = {"query": pyarrow.int64(), "score": number, "text": text, "payload": text}
        kinds["id"] = text if self.ids.dtype == object else pyarrow.int64()
        return pyarrow.table({name: pyarrow.array(own, kinds.get(name)) for name, own in columns.items()})


#: A repr shows this many hits.
_SHOWN = 3


def _hits(n: int) -> str:
    return "hit" if n == 1 else "hits"


class Searcher(Protocol):
    """Anything that answers queries: a local index, a sharded one, another system.

    Evaluation measures searchers, and tuning tries settings through them.
    """

    def search(self, vectors: Any, texts: str | Sequence[str | None] | None = None, *, k: int = 10) -> Hits:
        """Return the ``k`` best hits of every query."""
        ...
