"""What do the bags of all documents say? Ranking by words alone, and words that documents must or must not have.

Words alone read the bags of the documents that may be among the best, or of all where the words are common. Required
and excluded words read every bag: some hundred nanoseconds each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import check_hits, thread_count
from hi2.data.distinct import distinct
from hi2.data.given_array import entries
from hi2.errors import described, invalid
from hi2.search.candidates import FilterPerQuery, Matches, SegmentMatches, group_by_filter, matching
from hi2.search.hits import make_hits
from hi2.search.syntax import SignedText, signed_text
from hi2.selectors.evidence import Evidence
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import alive_bits
from hi2.state.snapshot import LiveSegment, Place
from hi2.types import U32, Array, Bytes, Hits

_NONE: U32 = np.zeros(0, np.uint32)


def evidence_of(model: Model, name: str) -> Evidence:
    """Return what words are worth; refuse an index without bags, in the name of an argument."""
    if model.evidence is None:
        must = "used on an index whose documents have bags (build with texts and bags=True, or refit() with texts)"
        raise invalid(name, must, "one without bags")
    return model.evidence


def execute_words(state: State, texts: Any, k: int, *, filter: Any = None, threads: int | None = None) -> Hits:
    """Return the best documents of one text or of several by BM25, of all that have one of its words."""
    single = isinstance(texts, str)
    rows = [texts] if single else list(entries(texts, name="texts", must="strings"))
    for row, text in enumerate(rows):
        if not isinstance(text, str):
            raise invalid("texts", "strings where there are no vectors", f"{described(text)} in row {row}")
    check_hits(len(rows), k)
    evidence = evidence_of(state.model, "texts")
    if state.model.terms is None:
        raise AssertionError("evidence belongs to terms")
    _, _, offsets, words = state.model.terms.query_terms(rows, 0)
    n_threads = 1 if single else thread_count(threads)
    groups = [(filter, list(range(len(rows))))]
    if isinstance(filter, FilterPerQuery):
        if len(filter.filters) != len(rows):
            raise invalid("filters", f"one per query ({len(rows)})", len(filter.filters))
        groups = group_by_filter(filter.filters)
    whole: list[Array] = []
    for given, own in groups:
        segments = state.snapshot.native if given is None else matching(state.snapshot, given).native(only=False)
        bounds = offsets.astype(np.int64)
        own_words = [words[bounds[i] : bounds[i + 1]] for i in own]
        own_offsets = np.zeros(len(own) + 1, np.uint64)
        np.cumsum([len(part) for part in own_words], out=own_offsets[1:])
        found = _native.search_words(
            evidence.native,
            state.model.native,
            segments,
            own_offsets,
            np.concatenate([_NONE, *own_words]),
            k,
            n_threads,
        )
        if not whole:
            whole = [np.zeros((len(rows), *part.shape[1:]), part.dtype) for part in found]
        for target, part in zip(whole, found, strict=True):
            target[own] = part
    segment_numbers, hit_rows, scores, counts, n_scored = whole
    no_lists, no_parts = np.zeros(len(rows), np.int64), np.zeros((0, 0), np.float32)
    hits = make_hits(
        state.snapshot,
        (segment_numbers, hit_rows, scores, counts, n_scored, no_lists, no_parts, no_parts),
        k=k,
        single=single,
    )
    return hits.ranked_by_words(complete=None if filter is None else True if single else np.ones(len(rows), bool))


def read_signs(state: State, texts: Any, filter: Any, threads: int | None) -> tuple[Any, Any]:
    """Return texts without their signs, and the filter with what the signs say."""
    if texts is None:
        return texts, filter
    single = isinstance(texts, str)
    rows = [texts] if single else list(entries(texts, name="texts", must="one string per query"))
    signed = [signed_text(text) if isinstance(text, str) else None for text in rows]
    if not any(own is not None and (own.required or own.excluded) for own in signed):
        return texts if single else rows, filter
    given = filter.filters if isinstance(filter, FilterPerQuery) else [filter] * len(rows)
    if len(given) != len(rows):
        raise invalid("filters", f"one per query ({len(rows)})", len(given))
    made: dict[Any, Any] = {}
    filters = []
    for own, one in zip(signed, given, strict=True):
        if own is None or not (own.required or own.excluded):
            filters.append(one)
            continue
        key = own.required, own.excluded, id(one)
        if key not in made:
            matches = _holding(state, own.required, own.excluded, threads)
            made[key] = matches if one is None else matches.also(matching(state.snapshot, one))
        filters.append(made[key])
    plain = [text if own is None else own.plain for text, own in zip(rows, signed, strict=True)]
    return (plain[0], filters[0]) if single else (plain, FilterPerQuery(filters))


def failed_signs(state: State, place: Place, signs: SignedText) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the required words that a document does not have, and the excluded words that it has."""
    evidence = evidence_of(state.model, "syntax")
    segment = state.snapshot.segments[place.segment].segment.native

    def held(word: str) -> bool:
        terms = _terms_of(state.model, word)
        if terms is None:
            return False
        return bool((segment.word_scores(evidence.native, terms, np.array([place.doc], np.uint32)) > 0).all())

    missing = tuple(word for word in dict.fromkeys(signs.required) if not held(word))
    return missing, tuple(word for word in dict.fromkeys(signs.excluded) if held(word))


def _holding(state: State, required: Sequence[str], excluded: Sequence[str], threads: int | None) -> Matches:
    """The documents that have all required words and none of the excluded."""
    evidence = evidence_of(state.model, "syntax")
    must, must_not = ([_terms_of(state.model, word) for word in words] for words in (required, excluded))
    parts = []
    for live in state.snapshot.segments:
        bits = alive_bits(live.flags())
        for terms in must:
            bits &= _with_words(live, evidence, terms, threads)
        for terms in must_not:
            bits &= ~_with_words(live, evidence, terms, threads)
        parts.append(SegmentMatches(live.segment.n_docs, bits))
    return Matches(state.snapshot, tuple(parts))


def _with_words(live: LiveSegment, evidence: Evidence, terms: U32 | None, threads: int | None) -> Bytes:
    """One bit for each document that has all the terms of a word; none has a word that is not a term."""
    if terms is None:
        return np.zeros((live.segment.n_docs + 7) // 8, np.uint8)
    key = f"words {terms.tolist()}"
    bits = live.segment.matches.get(key)
    if bits is not None:
        return bits
    return live.segment.matches.put(key, live.segment.native.holding(evidence.native, terms, thread_count(threads)))


def _terms_of(model: Model, word: str) -> U32 | None:
    """The terms of a signed word, several where it is cut into pieces; None if a part of it is no term."""
    if model.terms is None:
        raise AssertionError("evidence belongs to terms")
    tokenizer = model.terms.tokenizer
    tokens, _ = tokenizer.encode([word], threads=1)
    terms = [int(token) for token in tokens if not tokenizer.dropped[token]]
    return distinct(np.array(terms, np.uint32)) if len(terms) == len(tokenizer.tokens(word)) > 0 else None
