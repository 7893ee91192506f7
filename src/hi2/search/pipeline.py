"""Through which stages does a search go? Effort, query, candidates, scores, and what is made of the hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hi2.arguments import MAX_K, integer
from hi2.data.ids import check_id
from hi2.encoders.encoder import Encoder
from hi2.errors import invalid
from hi2.search.candidates import FilterPerQuery, per_query
from hi2.search.effort import Effort, resolve_effort, with_profile
from hi2.search.execute import execute
from hi2.search.explain import Explanation, explain
from hi2.search.postprocess import Postprocessing, postprocess
from hi2.search.query import encode_texts
from hi2.search.search_counts import SearchCounts
from hi2.state.index_state import State
from hi2.types import Hits, Id


def search(
    state: State,
    vectors: Any,
    texts: Any,
    *,
    encoder: Callable[[], Encoder | None],
    search_counts: SearchCounts,
    k: int,
    effort: dict[str, Any],
    profile: str | None,
    filter: Any,
    filters: Sequence[Any] | None,
    min_score: float | None,
    offset: int,
    group_by: str | None,
    rerank: Any,
    rerank_depth: int | None,
    threads: int | None,
) -> Hits:
    """Return the hits of one query or of a batch; ``effort`` holds the arguments of ``resolve_effort`` but k."""
    asked = effort
    if profile is not None:
        asked = with_profile(state, profile, effort)
        if filter is not None or filters is not None:  # what a filter opens is counted in clusters
            asked["adaptive"] = None
    resolved = resolve_effort(state.model, k=k, **asked)
    offset = integer("offset", offset, low=0, high=MAX_K)
    filter = per_query(filter, filters)
    for name in ("budget", "adaptive"):
        if filter is not None and effort[name] is not None:
            raise invalid(name, "left out with a filter, which opens as much as it needs", effort[name])
    vectors, texts = encode_texts(vectors, texts, encoder, state.model.dim)
    used = resolved
    if offset == 0 and min_score is None and group_by is None and rerank is None and rerank_depth is None:
        hits = execute(state, vectors, texts, resolved, filter=filter, threads=threads)
    else:

        def to_depth(depth: int) -> Hits:
            nonlocal used
            used = resolve_effort(state.model, k=min(depth, MAX_K), **asked)
            return execute(state, vectors, texts, used, filter=filter, threads=threads)

        wanted = Postprocessing.of(resolved.k, offset, min_score, group_by, rerank, rerank_depth)
        hits = postprocess(wanted, to_depth, state.snapshot, [texts] if isinstance(texts, str) else texts)
    if resolved.terms and resolved.per_doc:
        search_counts.count(texts, hits)
    return hits.explained_by(partial(_explain_hit, state, vectors, texts, used, filter))


def explain_one(
    state: State,
    vector: Any,
    text: str | None,
    *,
    encoder: Callable[[], Encoder | None],
    id: Id,
    k: int,
    effort: dict[str, Any],
) -> Explanation:
    """Return why a document is, or is not, among the k best of a query."""
    resolved = resolve_effort(state.model, k=k, **effort)
    vector, query_text = encode_texts(vector, text, encoder, state.model.dim)
    return explain(state, vector, query_text, resolved, id=check_id(id))


def _explain_hit(
    state: State, vectors: Any, texts: Any, effort: Effort, filter: Any, query: int, id: Id
) -> Explanation:
    """Explain a document to one of the queries of a search, as the index was then."""
    single = np.ndim(vectors) == 1
    text = texts if single or texts is None else texts[query]
    vector = vectors if single else vectors[query]
    own = filter.filters[query] if isinstance(filter, FilterPerQuery) else filter
    return explain(state, vector, text, effort, id=check_id(id), filter=own)
