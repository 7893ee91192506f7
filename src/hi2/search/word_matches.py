"""What do the words of a query say of one document? What each adds to its score, and which lists hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hi2.arguments import thread_count
from hi2.search.effort import Effort
from hi2.search.explanation import TermMatch, WordScore
from hi2.search.query_words import QueryWord, query_words
from hi2.selectors.evidence import MIN_RARE
from hi2.selectors.terms import TermSelector
from hi2.state.index_state import State
from hi2.state.snapshot import Place
from hi2.types import U32, Array

_NONE: U32 = np.zeros(0, np.uint32)


@dataclass(frozen=True)
class QueryText:
    """The words of a query's text, all its terms, and those among them that the search opens as lists."""

    words: Sequence[QueryWord] = ()
    terms: U32 = field(default_factory=_NONE.copy)
    opened: U32 = field(default_factory=_NONE.copy)


def read_text(state: State, text: str | None, n_opened: int) -> QueryText:
    """Return the words of a query that opens at most so many terms."""
    selector = state.model.terms
    if selector is None or text is None:
        return QueryText()
    _, opened, _, terms = selector.query_terms([text], n_opened)
    return QueryText(query_words(text, selector.tokenizer), terms, opened)


@dataclass(frozen=True)
class WordScores:
    """What the words of a query are worth in a document: in all, word by word (the highest first), and the rest."""

    lexical: float
    words: tuple[WordScore, ...]
    punctuation: float


def score_words(state: State, place: Place, query: QueryText, weight: float) -> WordScores:
    """Return the lexical score of a document, and what each known word adds to a score with this weight."""
    values = _term_scores(state, place, query.terms)
    by_term = dict(zip(query.terms.tolist(), values.tolist(), strict=True))
    lexical = float(values.cumsum(dtype=np.float32)[-1]) if len(values) else 0.0  # in the order of the search
    scores = []
    for own in query.words:
        parts = [by_term.pop(term, 0.0) for term in own.terms]  # a thread may add words meanwhile
        scores += [WordScore(own.word, weight * sum(parts), 0 < sum(map(bool, parts)) < len(parts))] if parts else []
    scores.sort(key=lambda own: -own.score)
    return WordScores(lexical, tuple(scores), weight * sum(by_term.values()))


def unknown_words(state: State, place: Place, query: QueryText) -> tuple[str, ...]:
    """Return the words that no document has."""
    values = _term_scores(state, place, query.terms)
    held = set(query.terms[values > 0].tolist())
    return tuple(own.word for own in query.words if not _occurs(state, own.terms, held))


@dataclass(frozen=True)
class ListMatches:
    """The words of a query by what the lists make of them; see ``Explanation``."""

    terms: tuple[TermMatch, ...] = ()
    query_terms: tuple[str, ...] = ()
    noted_terms: tuple[str, ...] = ()
    unfiled_terms: tuple[str, ...] = ()
    common_terms: tuple[str, ...] = ()
    skipped_terms: tuple[str, ...] = ()
    unmatched_terms: tuple[str, ...] = ()


def match_lists(
    state: State, place: Place, query: QueryText, effort: Effort, reached: set[int], *, by_words: bool
) -> ListMatches:
    """Say of every word whether the document is filed under it; ``reached`` are terms opened down to its cluster.

    Where words rank, documents are candidates by rare words too that they are not filed under.
    """
    segment = state.snapshot.segments[place.segment].segment.native
    opened = set(query.opened.tolist())
    values = _term_scores(state, place, query.terms)
    held = set(query.terms[values > 0].tolist())
    rare = 0 if state.model.evidence is None else state.model.evidence.rare
    rare = min(rare, MIN_RARE) if effort.weighed else rare
    # Opened however far the document is, and whatever the rank of the term in it.
    whole = {term for term in opened if by_words and 0 < rare >= _frequency(state, term)}
    found: dict[str, list[str]] = {name: [] for name in ("query", "noted", "unfiled", "common", "skipped", "unmatched")}
    matches = []
    for own in query.words:
        filed = []
        for term in own.terms:
            docs, ranks = segment.term_list(term)
            at = np.flatnonzero(docs == place.doc)
            filed += [(term, int(ranks[at[0]]))] if len(at) else []
        if not opened.isdisjoint(own.terms):
            found["query"].append(own.word)
        part = not held.union(term for term, _ in filed).issuperset(own.terms)
        asked = [
            TermMatch(own.word, rank, rank < effort.per_doc or term in whole, term in reached | whole, part)
            for term, rank in filed
            if term in opened
        ]
        if asked:
            matches.append(min(asked, key=lambda match: (not match.counts, not match.opened, match.rank)))
        elif filed:
            found["skipped"].append(own.word)
        elif not (whole & held).isdisjoint(own.terms):
            found["noted"].append(own.word)
        elif any(_filed_somewhere(state, term) for term in own.terms):
            if not held.isdisjoint(own.terms):
                found["unfiled"].append(own.word)
        elif not _occurs(state, own.terms, held):
            found["unmatched"].append(own.word)
        elif all(_frequency(state, term) > rare for term in own.terms):
            found["common"].append(own.word)
        elif not held.isdisjoint(own.terms):
            found["unfiled"].append(own.word)
    return ListMatches(tuple(matches), **{f"{name}_terms": tuple(words) for name, words in found.items()})


def _term_scores(state: State, place: Place, terms: U32) -> Array:
    """What each term is worth in the document: zero where it does not have it, or where documents have no bags."""
    evidence = state.model.evidence
    if evidence is None or not len(terms):
        return np.zeros(len(terms), np.float32)
    segment = state.snapshot.segments[place.segment].segment
    values: Array = segment.native.word_scores(evidence.native, terms, np.array([place.doc], np.uint32))[0]
    return values


def _frequency(state: State, term: int) -> int:
    """How many of the documents that the index was fitted to have the term; 0 for a word that was added later."""
    evidence = state.model.evidence
    df = (state.model.terms.df if state.model.terms is not None else _NONE) if evidence is None else evidence.df
    return int(df[term]) if term < len(df) else 0


def _filed_somewhere(state: State, term: int) -> bool:
    """Whether a living document is filed under the term."""
    for live in state.snapshot.segments:
        docs, _ = live.segment.native.term_list(term)
        if len(docs) and (live.alive is None or live.flags()[docs].any()):
            return True
    return False


def _occurs(state: State, terms: Sequence[int], held: set[int]) -> bool:
    """Whether a document has one of the terms; ``held`` are those of a document. Bags are read until one has it."""
    if not terms or not held.isdisjoint(terms):
        return bool(terms)
    evidence, selector = state.model.evidence, state.model.terms
    if evidence is None:
        return _occurred(selector, terms) or any(_filed_somewhere(state, term) for term in terms)
    for live in state.snapshot.segments:
        for term in terms:
            bits = live.segment.native.holding(evidence.native, np.array([term], np.uint32), thread_count(None))
            if (bits if live.alive is None else bits & live.alive[: len(bits)]).any():
                return True
    return False


def _occurred(selector: TermSelector | None, terms: Sequence[int]) -> bool:
    """Whether a document that the index was fitted to has one of the terms."""
    return selector is not None and any(term < selector.n_terms and selector.df[term] > 0 for term in terms)
