"""What becomes of hits before a caller sees them? Weak ones go, the best are reranked, one of every group stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hi2.arguments import MAX_K, integer, real
from hi2.errors import Error, InvalidParameter, invalid
from hi2.filters import read_column
from hi2.snapshot import Snapshot
from hi2.types import Array, Hits, Id

#: So many hits are reranked unless the search says otherwise.
DEFAULT_RERANKED = 100
_MORE = 4


@dataclass(frozen=True)
class Shape:
    """What is asked of the hits of one search."""

    k: int
    offset: int = 0
    min_score: float | None = None
    group_by: str | None = None
    rerank: Any = None
    n_reranked: int = 0

    @classmethod
    def of(
        cls, k: int, offset: int, min_score: float | None, group_by: str | None, rerank: Any, n: int | None
    ) -> Shape:
        """Return the arguments, checked."""
        offset = integer("offset", offset, low=0, high=MAX_K - k)
        if min_score is not None:
            min_score = real("min_score", min_score, low=-math.inf, high=math.inf)
        if group_by is not None and not isinstance(group_by, str):
            raise invalid("group_by", "the name of a payload column", repr(group_by))
        if rerank is None and n is not None:
            raise invalid("rerank_depth", "left out without rerank", n)
        if rerank is not None and not callable(rerank) and not callable(getattr(rerank, "predict", None)):
            raise invalid("rerank", "a callable of (query, texts), or a cross-encoder with predict", repr(rerank))
        depth = (
            0
            if rerank is None
            else integer("rerank_depth", max(DEFAULT_RERANKED, k + offset) if n is None else n, low=1)
        )
        return cls(k, offset, min_score, group_by, rerank, min(depth, MAX_K))

    @property
    def wanted(self) -> int:
        """How many hits the search must give at first."""
        if self.rerank is not None:
            return self.n_reranked
        least = self.k + self.offset
        return least * _MORE if self.group_by is not None else least


def shaped(
    shape: Shape,
    search: Callable[[int], Hits],
    snapshot: Snapshot,
    queries: Sequence[str | None] | None,
    stored: Callable[[list[Id]], list[dict[str, Any]]],
) -> Hits:
    """Search for as many hits as the shape needs, and give it to them."""
    column = None if shape.group_by is None else _Groups(snapshot, shape.group_by)
    depth = min(shape.wanted, max(snapshot.n_alive, 1))
    while True:
        hits = search(depth)
        rows = [hits[i] for i in range(len(hits))] if hits.batched else [hits]
        found = [
            _one(shape, row, None if queries is None else queries[i], column, stored) for i, row in enumerate(rows)
        ]
        # More can be found by looking deeper only where hits were not left out for their score or their depth.
        short = (
            column is not None
            and shape.rerank is None
            and any(
                len(own.ids) < shape.k + shape.offset and row.counts == depth and not _weak(shape, row)
                for own, row in zip(found, rows, strict=True)
            )
        )
        if not short or depth >= snapshot.n_alive:
            break
        depth = min(snapshot.n_alive, depth * _MORE)  # too few groups so far, and more to be found
    cut = [_cut(own, shape) for own in found]
    return _together(hits, cut, shape.k) if hits.batched else replace(cut[0], why=hits.why)


def _weak(shape: Shape, hits: Hits) -> bool:
    """Whether the last hit scores too little, so that all behind it do."""
    return shape.min_score is not None and len(hits.scores) > 0 and float(hits.scores[-1]) < shape.min_score


def _one(shape: Shape, hits: Hits, query: str | None, column: _Groups | None, stored: Any) -> Hits:
    if shape.min_score is not None:
        hits = _take(hits, np.flatnonzero(hits.scores >= shape.min_score))
    if shape.rerank is not None:
        hits = _reranked(shape, hits, query, stored)
    if column is None:
        return hits
    values = column.of(hits.ids.tolist())
    first = {value: place for place, value in reversed(list(enumerate(values)))}
    places = np.array(sorted(first.values()), np.int64)
    named = np.empty(len(places), object)
    named[:] = [values[place] for place in places]
    return replace(_take(hits, places), groups=named)


def _reranked(shape: Shape, hits: Hits, query: str | None, stored: Any) -> Hits:
    """The best in the order of their new scores; hits beyond the depth are left out."""
    if query is None:
        raise invalid("rerank", "used with a query's text", "a query without one")
    best = _take(hits, np.arange(min(shape.n_reranked, len(hits.ids))))
    texts = [own.get("text") for own in stored(best.ids.tolist())]
    if any(text is None for text in texts):
        raise invalid("rerank", "used on an index that keeps texts (keep_text=True)", "documents without text")
    if not texts:
        return best
    try:
        predict = getattr(shape.rerank, "predict", None)
        given = predict([(query, text) for text in texts]) if callable(predict) else shape.rerank(query, texts)
        scores = np.asarray(given, np.float32).reshape(-1)
    except Exception as error:
        raise Error(f"The 'rerank' callable failed: {type(error).__name__}: {error}") from error
    if len(scores) != len(texts) or np.isnan(scores).any():
        got = f"{len(scores)}" if len(scores) != len(texts) else "NaN"
        raise InvalidParameter(f"The 'rerank' callable must give one score a text ({len(texts)}). Got {got} instead.")
    order = np.argsort(-scores, kind="stable")
    return replace(_take(best, order), scores=scores[order])


def _take(hits: Hits, places: Array) -> Hits:
    groups = None if hits.groups is None else hits.groups[places]
    return replace(hits, ids=hits.ids[places], scores=hits.scores[places], counts=len(places), groups=groups)


def _cut(hits: Hits, shape: Shape) -> Hits:
    return _take(hits, np.arange(len(hits.ids))[shape.offset : shape.offset + shape.k])


def _together(batch: Hits, rows: list[Hits], k: int) -> Hits:
    ids = np.full((len(rows), k), *((None, object) if batch.ids.dtype == object else (-1, np.int64)))
    scores = np.full((len(rows), k), -np.inf, np.float32)
    grouped = any(row.groups is not None for row in rows)
    groups = np.full((len(rows), k), None, object) if grouped else None
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)], scores[i, : len(row.ids)] = row.ids, row.scores
        if groups is not None and row.groups is not None:
            groups[i, : len(row.ids)] = row.groups
    return replace(batch, ids=ids, scores=scores, counts=np.array([row.counts for row in rows]), groups=groups)


class _Groups:
    """The value of one column for any document."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._snapshot = snapshot
        self._columns = read_column([live.segment.columns for live in snapshot.lives], name)

    def of(self, ids: list[Id]) -> list[Any]:
        values: list[Any] = []
        for place in self._snapshot.find(ids):
            column = None if place is None else self._columns[place.segment]
            values.append(None if column is None or place is None else column.value(place.doc))
        return values
