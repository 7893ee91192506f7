"""What happens to hits before the caller sees them? Thresholds, reranking, grouping, paging."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hi2.arguments import MAX_K, check_hits, integer, real
from hi2.errors import Error, InvalidParameter, described, invalid
from hi2.filters.expression import read_column
from hi2.state.snapshot import Snapshot, stored_documents
from hi2.types import Array, Hits, Id

#: How many hits are reranked unless the search says otherwise.
DEFAULT_RERANK_DEPTH = 100
#: Grouping searches for this many times more hits than groups are wanted, and again until there are enough.
_GROUPING_FACTOR = 4


@dataclass(frozen=True)
class Postprocessing:
    """What is wanted of the hits of one search."""

    k: int
    offset: int = 0
    min_score: float | None = None
    group_by: str | None = None
    rerank: Any = None
    n_reranked: int = 0

    @classmethod
    def of(
        cls, k: int, offset: int, min_score: float | None, group_by: str | None, rerank: Any, n: int | None
    ) -> Postprocessing:
        """Return the checked arguments."""
        offset = integer("offset", offset, low=0, high=MAX_K - k)
        if min_score is not None:
            min_score = real("min_score", min_score, low=-math.inf, high=math.inf)
        if group_by is not None and not isinstance(group_by, str):
            raise invalid("group_by", "the name of a payload column", described(group_by))
        if rerank is None and n is not None:
            raise invalid("rerank_depth", "left out without rerank", n)
        if rerank is not None and not callable(rerank) and not callable(getattr(rerank, "predict", None)):
            raise invalid("rerank", "a callable of (query, texts), or a cross-encoder with predict", described(rerank))
        depth = (
            0
            if rerank is None
            else integer("rerank_depth", max(DEFAULT_RERANK_DEPTH, k + offset) if n is None else n, low=1)
        )
        return cls(k, offset, min_score, group_by, rerank, min(depth, MAX_K))

    @property
    def depth(self) -> int:
        """How many hits the first search must find."""
        if self.rerank is not None:
            return self.n_reranked
        least = self.k + self.offset
        return least * _GROUPING_FACTOR if self.group_by is not None else least


def postprocess(
    wanted: Postprocessing,
    search: Callable[[int], Hits],
    snapshot: Snapshot,
    texts: Sequence[str | None] | None,
) -> Hits:
    """Search for as many hits as are needed, and return those that are wanted."""
    column = None if wanted.group_by is None else _GroupColumn(snapshot, wanted.group_by)
    depth = min(wanted.depth, max(snapshot.n_alive, 1))
    while True:
        hits = search(depth)
        rows = hits.each
        found = [
            _one_query(wanted, row, None if texts is None else texts[i], column, snapshot) for i, row in enumerate(rows)
        ]
        # A deeper search can find more groups only if no hits were dropped for their score or their depth.
        short = (
            column is not None
            and wanted.rerank is None
            and any(
                len(own.ids) < wanted.k + wanted.offset and row.counts == depth and not _weak(wanted, row)
                for own, row in zip(found, rows, strict=True)
            )
        )
        if not short or depth >= snapshot.n_alive:
            break
        depth = min(snapshot.n_alive, depth * _GROUPING_FACTOR)  # too few groups so far
    pages = [_page(own, wanted) for own in found]
    return _stack(hits, pages, wanted.k) if hits.batched else pages[0]


def _weak(wanted: Postprocessing, hits: Hits) -> bool:
    """Whether the last hit scores too little; then all hits after it do."""
    return wanted.min_score is not None and len(hits.scores) > 0 and float(hits.scores[-1]) < wanted.min_score


def _one_query(
    wanted: Postprocessing, hits: Hits, text: str | None, column: _GroupColumn | None, snapshot: Snapshot
) -> Hits:
    if wanted.min_score is not None:
        hits = _take(hits, np.flatnonzero(hits.scores >= wanted.min_score))
    if wanted.rerank is not None:
        hits = _rerank(wanted, hits, text, snapshot)
    if column is None:
        return hits
    values = column.of(hits.ids.tolist())
    first = {value: place for place, value in reversed(list(enumerate(values)))}
    places = np.array(sorted(first.values()), np.int64)
    named = np.empty(len(places), object)
    named[:] = [values[place] for place in places]
    return replace(_take(hits, places), groups=named)


def _rerank(wanted: Postprocessing, hits: Hits, query: str | None, snapshot: Snapshot) -> Hits:
    """The best hits in the order of their new scores; hits beyond the depth are dropped."""
    if query is None:
        raise invalid("rerank", "used with a query's text", "a query without one")
    best = _take(hits, np.arange(min(wanted.n_reranked, len(hits.ids))))
    texts = [own.get("text") for own in stored_documents(snapshot, best.ids.tolist())]
    if any(text is None for text in texts):
        raise invalid("rerank", "used on an index that keeps texts (keep_text=True)", "documents without text")
    if not texts:
        return best
    try:
        predict = getattr(wanted.rerank, "predict", None)
        given = predict([(query, text) for text in texts]) if callable(predict) else wanted.rerank(query, texts)
        scores = np.asarray(given, np.float32).reshape(-1)
    except Exception as error:
        raise Error(f"The 'rerank' callable failed: {type(error).__name__}: {error}") from error
    if len(scores) != len(texts) or np.isnan(scores).any():
        got = f"{len(scores)}" if len(scores) != len(texts) else "NaN"
        raise InvalidParameter(f"The 'rerank' callable must give one score per text ({len(texts)}). Got {got}.")
    order = np.argsort(-scores, kind="stable")
    return replace(_take(best, order), scores=scores[order])


def _take(hits: Hits, places: Array) -> Hits:
    names = ("ids", "scores", "groups", "dense", "lexical")
    taken = {name: own[places] for name in names if (own := getattr(hits, name)) is not None}
    return replace(hits, **taken, counts=len(places))


def _page(hits: Hits, wanted: Postprocessing) -> Hits:
    return _take(hits, np.arange(len(hits.ids))[wanted.offset : wanted.offset + wanted.k])


def _stack(batch: Hits, rows: list[Hits], k: int) -> Hits:
    check_hits(len(rows), k)
    missing: dict[str, Any] = {"ids": -1 if batch.ids.dtype != object else None, "groups": None}
    stacked: dict[str, Any] = {}
    for name in ("ids", "scores", "groups", "dense", "lexical"):
        own = [getattr(row, name) for row in rows]
        if all(values is None for values in own):
            continue
        filler = missing.get(name, 0.0 if name == "lexical" else -np.inf)
        kind = np.int64 if filler == -1 else object if filler is None else np.float32
        stacked[name] = np.full((len(rows), k), filler, kind)
        for i, values in enumerate(own):
            if values is not None:
                stacked[name][i, : len(values)] = values
    return replace(batch, **stacked, counts=np.array([row.counts for row in rows]))


class _GroupColumn:
    """The value of one column for any document."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._snapshot = snapshot
        self._columns = read_column([live.segment.columns for live in snapshot.segments], name)

    def of(self, ids: list[Id]) -> list[Any]:
        values: list[Any] = []
        for place in self._snapshot.find(ids):
            column = None if place is None else self._columns[place.segment]
            values.append(None if column is None or place is None else column.value(place.doc))
        return values
