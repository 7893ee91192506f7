"""How is a query answered? By one native call where it is plain, else by a batch, filtered where a filter is given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import check_hits, thread_count
from hi2.data.vectors import INNER_PRODUCT, LARGEST
from hi2.errors import invalid
from hi2.search.candidates import FilterPerQuery, Matches, every_document, group_by_filter, matching
from hi2.search.effort import Effort
from hi2.search.hits import Found, id_array, make_hits
from hi2.search.query import Queries, Texts, read_queries, with_terms
from hi2.state.index_state import State
from hi2.types import Array, Floats, Hits

#: If a share s of the documents passes a filter, the search opens (1 / s) to this power times as many clusters. It is
#: measured: the k best of what passes are then found as well as the k best of all documents without a filter.
WIDENING_EXPONENT = 0.75
#: If no more documents pass a filter than this, or than four times k, all of them are scored.
MAX_EXHAUSTIVE = 4096
#: In place of the parts of scores where words do not rank.
_NO_PARTS: Floats = np.zeros((0, 0), np.float32)


def execute(
    state: State, vectors: Any, texts: Texts, effort: Effort, *, filter: Any = None, threads: int | None = None
) -> Hits:
    """Return the hits of one query or of a batch. ``filter`` is one filter for all queries, or one for each."""
    if filter is None and type(vectors) is np.ndarray and vectors.ndim == 1 and (texts is None or type(texts) is str):
        hits = _execute_one(state, vectors, texts, effort)
        if hits is not None and not (effort.widens and hits.counts < min(effort.k, state.snapshot.n_alive)):
            return hits
    query_vectors, query_texts, single = read_queries(vectors, texts, state.model)
    check_hits(len(query_vectors), effort.k)
    n_threads = 1 if single else thread_count(threads)
    queries = with_terms(state.model, query_vectors, query_texts, effort, n_threads)
    if filter is None:
        return make_hits(state.snapshot, _unfiltered(state, queries, effort, n_threads), k=effort.k, single=single)
    if isinstance(filter, FilterPerQuery):
        found, complete = _filtered_each(state, queries, effort, filter, n_threads)
    else:
        found, complete = _filtered(state, queries, effort, matching(state.snapshot, filter), n_threads)
    hits = make_hits(state.snapshot, found, k=effort.k, single=single)
    return replace(hits, complete=bool(complete[0]) if single else complete)


def execute_native(state: State, queries: Queries, effort: Effort, threads: int, segments: Any = None) -> Found:
    """Run the native search over the segments of the state, or over those given with a filter's bits."""
    own = state.snapshot.native if segments is None else segments
    found = _native.search(
        state.model.native,
        own,
        queries.vectors,
        queries.offsets,
        queries.terms,
        effort.native,
        threads,
        queries.word_offsets,
        queries.words,
    )
    return found if queries.words is not None else (*found[:6], _NO_PARTS, _NO_PARTS)


def _unfiltered(state: State, queries: Queries, effort: Effort, threads: int) -> Found:
    """Search without a filter; queries that find too little open more, as those with a filter do."""
    found = execute_native(state, queries, effort, threads)
    rows = np.flatnonzero(found[3] < min(effort.k, state.snapshot.n_alive)) if effort.widens else ()
    if len(rows):
        found = [np.array(part) for part in found]
        again, _ = _filtered(state, queries.take(rows), effort, every_document(state.snapshot), threads)
        _put_rows(found, rows, again)
    return found


def _execute_one(state: State, vector: Array, text: str | None, effort: Effort) -> Hits | None:
    """Return the hits of one plain query by one native call; None if the query must be looked at more closely."""
    if state.model.metric != INNER_PRODUCT or vector.dtype != np.float32:
        return None
    text = None if state.model.terms is None else text
    found = (state.vector_reader if text is None else state.reader).search(vector, text, effort.native, LARGEST)
    if found is None:
        return None
    ids, scores, n_scored, n_term_lists, *parts = found
    dense, lexical = parts if parts and text is not None else (scores, None)
    named = id_array(state.snapshot, ids)
    return Hits(named, scores, n_scored, len(ids), n_term_lists, dense=dense, lexical=lexical)


def _filtered_each(
    state: State, queries: Queries, effort: Effort, filter: FilterPerQuery, threads: int
) -> tuple[Found, Array]:
    """Search with one filter per query; queries with equal filters are searched together."""
    if len(filter.filters) != len(queries):
        raise invalid("filters", f"one per query ({len(queries)})", len(filter.filters))
    groups = group_by_filter(filter.filters)
    if not groups:
        return execute_native(state, queries, effort, threads), np.zeros(0, bool)
    whole: list[Array] = []
    complete = np.zeros(len(queries), bool)
    for given, rows in groups:
        some = queries.take(rows)
        if given is None:
            found: Found = _unfiltered(state, some, effort, threads)
            complete[rows] = effort.word_clusters >= state.model.n_clusters > 0
        else:
            found, complete[rows] = _filtered(state, some, effort, matching(state.snapshot, given), threads)
        if not whole:
            whole = [np.zeros((len(queries) if len(part) else 0, *part.shape[1:]), part.dtype) for part in found]
        _put_rows(whole, rows, found)
    return whole, complete


def _put_rows(whole: Found, rows: Sequence[int] | Array, found: Found) -> None:
    """Put what was found for some queries in its place. The parts of scores have no rows where words do not rank."""
    for target, part in zip(whole, found, strict=True):
        if len(part):
            target[rows] = part


def _filtered(state: State, queries: Queries, effort: Effort, passing: Matches, threads: int) -> tuple[Found, Array]:
    """Search what passes a filter, and whether all of it was scored, per query."""
    wanted = min(effort.k, passing.n)
    complete = np.zeros(len(queries), bool)
    rows: Array = np.arange(len(queries))
    found: Found = ()
    for own, exhaustive in filtered_efforts(state, effort, passing):
        some = queries.take(rows) if found else queries
        again = execute_native(state, some, own, threads, passing.native(only=exhaustive))
        complete[rows] = exhaustive or own.clusters >= state.model.n_clusters > 0
        if found:
            _put_rows(found, rows, again)
        found = found or again
        rows = rows[again[3] < wanted]
        if not len(rows):
            break
        found = [np.array(part) for part in found]
    return found, complete


def filtered_efforts(state: State, effort: Effort, passing: Matches) -> Iterator[tuple[Effort, bool]]:
    """Yield what a search with a filter opens, in turn until k hits are found, and whether it scores all that passes.

    The fewer documents pass, the farther the k best of them lie, so more clusters are opened, and still more until k
    are found. Lists are opened whole, even if the effort says to weigh them.
    """
    model = state.model
    if effort.weighed:
        effort = replace(effort, budget=None, adaptive=None)
    effort = replace(effort, word_share=1.0)
    exhaustive = passing.n <= max(MAX_EXHAUSTIVE, 4 * effort.k)
    if not exhaustive:
        wider = math.ceil(effort.clusters * (state.snapshot.n_alive / max(passing.n, 1)) ** WIDENING_EXPONENT)
        effort = replace(effort, clusters=min(model.n_clusters, wider))
    yield effort, exhaustive
    while not exhaustive:
        exhaustive = effort.clusters >= model.n_clusters
        fewest = 0 if model.clusters is None else model.clusters.default_probes
        effort = replace(effort, clusters=min(model.n_clusters, max(8 * effort.clusters, fewest)))
        yield effort, exhaustive
