"""Through which stages does a search go? Effort, query, candidates, scores, and what is made of the hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hi2.arguments import MAX_K, boolean, integer
from hi2.data.ids import check_id
from hi2.encoders.encoder import Encoder
from hi2.errors import invalid
from hi2.search.candidates import per_query
from hi2.search.effort import Effort, resolve_effort, with_profile
from hi2.search.execute import execute
from hi2.search.explain import explain
from hi2.search.explanation import Explanation
from hi2.search.found_by import FoundBy
from hi2.search.postprocess import Postprocessing, postprocess
from hi2.search.query import encode_texts
from hi2.search.search_counts import SearchCounts
from hi2.search.syntax import signed_text
from hi2.search.words import execute_words, read_signs
from hi2.state.index_state import State
from hi2.types import Hits, Id

#: Where one of these is given, a search opens what they say and no more.
_LIMITS = ("clusters", "terms", "per_doc", "budget", "adaptive")


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
    syntax: bool,
    threads: int | None,
) -> Hits:
    """Return the hits of one query or of a batch; ``effort`` holds the arguments of ``resolve_effort`` but k."""
    filter = per_query(filter, filters)
    if boolean("syntax", syntax):
        vectors, texts, filter = _without_signs(state, vectors, texts, filter, threads)
    for name in ("budget", "adaptive"):
        if filter is not None and effort[name] is not None:
            raise invalid(name, "left out with a filter or signs, which open as much as they need", effort[name])
    asked = effort
    widens = profile is None and _widens(effort)
    if profile is not None:
        asked = with_profile(state, profile, effort)
        if filter is not None:  # what a filter opens is counted in clusters
            asked["adaptive"] = None
    resolved = resolve_effort(state.model, k=k, **asked, widens=widens)
    offset = integer("offset", offset, low=0, high=MAX_K)
    vectors, texts = encode_texts(vectors, texts, encoder, state.model)
    words_alone = vectors is None and texts is not None
    _check_lexical(effort["lexical"], texts, words_alone=words_alone)

    def answer(own: Effort) -> Hits:
        if words_alone:
            return execute_words(state, texts, own.k, filter=filter, threads=threads)
        return execute(state, vectors, texts, own, filter=filter, threads=threads)

    used = resolved
    if offset == 0 and min_score is None and group_by is None and rerank is None and rerank_depth is None:
        hits = answer(resolved)
    else:

        def to_depth(depth: int) -> Hits:
            nonlocal used
            used = resolve_effort(state.model, k=min(depth, MAX_K), **asked, widens=widens)
            return answer(used)

        wanted = Postprocessing.of(resolved.k, offset, min_score, group_by, rerank, rerank_depth)
        hits = postprocess(wanted, to_depth, state.snapshot, [texts] if isinstance(texts, str) else texts)
    if resolved.terms and resolved.per_doc and not words_alone and filter is None:  # few that pass need no list
        search_counts.count(texts, hits)
    return hits.coming_from(FoundBy(state, vectors, texts, used, filter))


def _widens(effort: dict[str, Any]) -> bool:
    """Whether a search may open more than its effort says, to find k documents."""
    return all(effort[name] is None for name in _LIMITS)


def _without_signs(state: State, vectors: Any, texts: Any, filter: Any, threads: int | None) -> tuple[Any, Any, Any]:
    """Return the query without signs, and the filter with what they say."""
    is_text = isinstance(vectors, (str, list, tuple)) and texts is None
    texts, filter = read_signs(state, vectors if is_text else texts, filter, threads)
    return (texts, None, filter) if is_text else (vectors, texts, filter)


def _check_lexical(lexical: float | None, texts: Any, *, words_alone: bool) -> None:
    """Refuse a weight of words that contradicts the query."""
    if lexical is not None and lexical > 0 and texts is None:
        raise invalid("lexical", "0 for a query without text", lexical)
    if words_alone and lexical == 0:
        raise invalid("lexical", "left out for text alone, which is ranked by its words", lexical)


def explain_one(
    state: State,
    vector: Any,
    text: str | None,
    *,
    encoder: Callable[[], Encoder | None],
    id: Id,
    against: Id | None,
    k: int,
    syntax: bool,
    effort: dict[str, Any],
) -> Explanation:
    """Return why a document is, or is not, among the k best of a query."""
    resolved = resolve_effort(state.model, k=k, **effort, widens=_widens(effort))
    filter, signs = None, None
    if boolean("syntax", syntax):
        signed = vector if isinstance(vector, str) and text is None else text
        signs = signed_text(signed) if isinstance(signed, str) else None
        vector, text, filter = _without_signs(state, vector, text, None, None)
    vector, query_text = encode_texts(vector, text, encoder, state.model)
    _check_lexical(effort["lexical"], query_text, words_alone=vector is None and query_text is not None)
    other = None if against is None else check_id(against, name="against")
    if other is not None:
        state.snapshot.find_checked([other], name="against")
    return explain(state, vector, query_text, resolved, id=check_id(id), against=other, filter=filter, signs=signs)
