"""How is a query answered? Arguments are checked, terms chosen, the native search runs, rows become ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from hi2 import _native
from hi2.adapting import DEFAULT_BENEFIT, Benefit, log_odds
from hi2.arguments import MAX_K, integer, real, thread_count
from hi2.errors import invalid
from hi2.filtering import Passing, filter_key, passing, search_passing
from hi2.model import Model
from hi2.ragged import take_rows
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.snapshot import Snapshot, row_ids
from hi2.store import State
from hi2.types import Array, Floats, Hits
from hi2.vectors import INNER_PRODUCT, LARGEST, open_vectors

#: The refine store rescores this many times k hits unless the search says otherwise.
DEFAULT_REFINE = 4


@dataclass(frozen=True)
class PerQuery:
    """A filter for every query of a batch, None for none."""

    filters: Sequence[Any]


@dataclass(frozen=True)
class Effort:
    """How much of the index a query looks at, every number resolved; the refine store rescores ``depth`` hits.

    With ``adaptive`` or ``budget`` a query weighs its lists by ``benefit``, and ``clusters`` are the most it opens.
    """

    k: int
    clusters: int
    terms: int
    per_doc: int
    depth: int
    budget: int | None = None
    adaptive: float | None = None
    benefit: Benefit = DEFAULT_BENEFIT

    @property
    def weighed(self) -> bool:
        """Whether a query weighs its lists; else it opens them whole."""
        return self.budget is not None or self.adaptive is not None

    @property
    def native(self) -> _native.Effort:
        """The same for the native search; made at each call, which is cheaper than to keep it."""
        return _native.Effort(
            k=self.k,
            clusters=self.clusters,
            terms=self.terms,
            per_doc=self.per_doc,
            depth=self.depth,
            benefit=self.benefit.array if self.weighed else None,
            cut=-math.inf if self.adaptive is None else log_odds(self.adaptive),
            budget=self.budget,
        )


def resolve_effort(
    model: Model,
    *,
    k: int,
    clusters: int | None = None,
    terms: int | None = None,
    per_doc: int | None = None,
    refine: int | None = None,
    budget: int | None = None,
    adaptive: float | None = None,
    benefit: Benefit | None = None,
) -> Effort:
    """Return the numbers a search uses; None takes the default."""

    def count(name: str, value: int | None, default: int) -> int:
        return default if value is None else min(integer(name, value, low=0), 2**31 - 1)

    k = integer("k", k, low=1, high=MAX_K)
    rounds = count("refine", refine, DEFAULT_REFINE)
    if adaptive is not None:
        adaptive = real("adaptive", adaptive, low=0, high=1)
    if model.clusters is None:
        probes = 0
    else:
        probes = model.clusters.default_probes if budget is adaptive is None else model.n_clusters
    return Effort(
        k=k,
        clusters=count("clusters", clusters, probes),
        terms=count("terms", terms, DEFAULT_QUERY_TERMS),
        per_doc=count("per_doc", per_doc, model.per_doc),
        depth=k * rounds if model.refine is not None else 0,
        budget=None if budget is None else min(integer("budget", budget, low=1), 2**62),
        adaptive=adaptive,
        benefit=DEFAULT_BENEFIT if benefit is None else benefit,
    )


def search(
    state: State,
    vectors: Any,
    texts: str | Sequence[str | None] | None,
    effort: Effort,
    *,
    filters: Any = None,
    threads: int | None = None,
) -> Hits:
    """Return the hits of one query or of a batch; ``filters`` is one for all, or a list with one a query."""
    model = state.model
    if filters is None and type(vectors) is np.ndarray and vectors.ndim == 1 and (texts is None or type(texts) is str):
        hits = _search_one(state, vectors, texts, effort)
        if hits is not None:
            return hits
    queries, query_texts, single = read_queries(vectors, texts, model)
    n_threads = 1 if single else thread_count(threads)
    offsets, numbers = np.zeros(len(queries) + 1, np.uint64), np.zeros(0, np.uint32)
    if model.terms is not None and query_texts is not None and effort.terms and effort.per_doc:
        offsets, numbers = model.terms.query_terms(query_texts, effort.terms, threads=n_threads)
    if filters is not None:
        return _filtered(state, queries, offsets, numbers, effort, filters, single=single, threads=n_threads)
    found = search_native(state, queries, offsets, numbers, effort, threads=n_threads)
    return _hits(state.snapshot, found, k=effort.k, single=single)


def search_native(
    state: State, queries: Floats, offsets: Array, numbers: Array, effort: Effort, *, threads: int
) -> tuple[Array, ...]:
    """Return (segments, rows, scores, counts, n_scored, n_term_lists) of queries with their terms."""
    return _native.search(state.model.native, state.snapshot.native, queries, offsets, numbers, effort.native, threads)


def _filtered(
    state: State,
    queries: Floats,
    offsets: Array,
    numbers: Array,
    effort: Effort,
    filters: Any,
    *,
    single: bool,
    threads: int,
) -> Hits:
    """Return the hits of queries of which each has a filter; those with the same one are searched for together."""
    model = state.model

    def passed(through: Passing, queries: Floats, offsets: Array, numbers: Array) -> tuple[tuple[Array, ...], Array]:
        n_docs = state.snapshot.n_alive
        return search_passing(model, through, queries, offsets, numbers, effort, n_docs=n_docs, threads=threads)

    if not isinstance(filters, PerQuery):
        answer, complete = passed(passing(state.snapshot, filters), queries, offsets, numbers)
        hits = _hits(state.snapshot, answer, k=effort.k, single=single)
        return replace(hits, complete=bool(complete[0]) if single else complete)
    own = filters
    if len(own.filters) != len(queries):
        raise invalid("filters", f"one a query ({len(queries)})", len(own.filters))
    groups: dict[str | int, list[int]] = {}
    for row, given in enumerate(own.filters):
        groups.setdefault(filter_key(given), []).append(row)
    merged: list[Array] | None = None
    complete = np.zeros(len(queries), bool)
    for rows in groups.values():
        given = own.filters[rows[0]]
        starts, terms = take_rows(offsets, numbers, rows)
        found: Sequence[Array]
        if given is None:
            found = search_native(state, np.ascontiguousarray(queries[rows]), starts, terms, effort, threads=threads)
            complete[rows] = effort.clusters >= model.n_clusters > 0
        else:
            block = np.ascontiguousarray(queries[rows])
            found, complete[rows] = passed(passing(state.snapshot, given), block, starts, terms)
        if merged is None:
            merged = [np.zeros((len(queries), *part.shape[1:]), part.dtype) for part in found]
        for whole, part in zip(merged, found, strict=True):
            whole[rows] = part
    if merged is None:  # no queries
        merged = list(search_native(state, queries, offsets, numbers, effort, threads=threads))
    hits = _hits(state.snapshot, tuple(merged), k=effort.k, single=single)
    return replace(hits, complete=bool(complete[0]) if single else complete)


def _search_one(state: State, vector: Array, text: str | None, effort: Effort) -> Hits | None:
    """Return the hits of one plain query in one native call; None where the long road must look at it."""
    if state.model.metric != INNER_PRODUCT or vector.dtype != np.float32:
        return None
    text = None if state.model.terms is None else text
    found = (state.vector_reader if text is None else state.reader).search(vector, text, effort.native, LARGEST)
    if found is None:
        return None
    listed, scores, n_scored, n_term_lists = found
    return Hits(_id_array(state.snapshot, listed), scores, n_scored, len(listed), n_term_lists)


class Tally:
    """How many texts were searched for, and how many of them opened no term list. Many threads may count."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.with_text = 0
        self.without_term_list = 0

    def count(self, texts: str | Sequence[str | None] | None, hits: Hits) -> None:
        """Count one search."""
        if texts is None:
            return
        opened = [hits.n_term_lists] if isinstance(texts, str) else hits.n_term_lists
        rows = [texts] if isinstance(texts, str) else texts
        asked = [n for n, text in zip(opened, rows, strict=True) if text]
        with self._lock:
            self.with_text += len(asked)
            self.without_term_list += sum(int(n) == 0 for n in asked)

    def report(self) -> dict[str, int]:
        """Return the counts as data."""
        return {"with_text": self.with_text, "without_term_list": self.without_term_list}


def read_query(vector: Any, model: Model) -> Floats:
    """Return one query vector as the search sees it."""
    query: Floats = open_vectors(np.asarray(vector)[None, :], metric=model.metric, dim=model.dim).read(slice(0, 1))[0]
    return query


def read_queries(
    vectors: Any, texts: str | Sequence[str | None] | None, model: Model
) -> tuple[Floats, Sequence[str | None] | None, bool]:
    """Return queries as (n, dim), their texts, and whether it was one query."""
    array = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
    single = array.ndim == 1
    if single and texts is not None and not isinstance(texts, str):
        raise invalid("texts", "one string for one vector", f"a {type(texts).__name__}")
    if not single and isinstance(texts, str):
        raise invalid("texts", "one string a query", "a single string for a batch of vectors")
    source = open_vectors(array[None, :] if single else array, metric=model.metric, dim=model.dim)
    queries = source.read(slice(0, source.n))
    if texts is None:
        return queries, None, single
    rows: Sequence[str | None] = [texts] if isinstance(texts, str) else list(texts)
    if len(rows) != len(queries):
        raise invalid("texts", f"one string a query ({len(queries)})", len(rows))
    for row, text in enumerate(rows):
        if text is not None and not isinstance(text, str):
            raise invalid("texts", "strings or None", f"a {type(text).__name__} in row {row}")
    return queries, rows, single


def _hits(snapshot: Snapshot, found: Sequence[Array], *, k: int, single: bool) -> Hits:
    """Turn (segment, row) pairs into the users' ids; unfilled places hold -1 or None and -inf."""
    numbers, rows, scores, counts, n_scored, n_term_lists = found
    if single:
        count = int(counts[0])
        ids = _id_array(snapshot, row_ids(snapshot, numbers[0, :count], rows[0, :count]))
        return Hits(ids, scores[0, :count], int(n_scored[0]), count, int(n_term_lists[0]))
    n, width = rows.shape
    filled = np.arange(width) < counts[:, None]
    ids = np.full((n, k), *((None, object) if snapshot.id_kind == "str" else (-1, np.int64)))
    ids[:, :width][filled] = _id_array(snapshot, row_ids(snapshot, numbers[filled], rows[filled]))
    padded = np.full((n, k), -np.inf, np.float32)
    padded[:, :width] = scores
    return Hits(ids, padded, n_scored, counts, n_term_lists)


def _id_array(snapshot: Snapshot, ids: list[Any]) -> Array:
    if snapshot.id_kind != "str":
        return np.array(ids, np.int64)
    array = np.empty(len(ids), object)
    array[:] = ids
    return array
