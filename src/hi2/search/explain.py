"""Why is this document among the hits, or why not? The search is repeated, and its lists are looked into."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hi2 import _native
from hi2.codecs import Flat
from hi2.errors import described, invalid
from hi2.search.candidates import Matches, every_document, matching
from hi2.search.comparison import compare
from hi2.search.effort import Effort
from hi2.search.execute import execute_native, filtered_efforts
from hi2.search.explanation import ClusterMatch, Explanation
from hi2.search.hits import make_hits
from hi2.search.query import Queries, read_query, with_terms
from hi2.search.syntax import SignedText
from hi2.search.word_matches import QueryText, match_lists, read_text, score_words, unknown_words
from hi2.search.words import execute_words, failed_signs
from hi2.state.index_state import State
from hi2.state.snapshot import Place
from hi2.types import Array, Floats, Hits, Id


def explain(
    state: State,
    vector: Any,
    text: str | None,
    effort: Effort,
    *,
    id: Id,
    against: Id | None = None,
    filter: Any = None,
    signs: SignedText | None = None,
) -> Explanation:
    """Return why ``id`` is or is not among the best, and why it is ahead of ``against`` or behind it.

    Without a vector the words of the text rank alone. ``signs`` are those that the filter was made from.
    """
    if text is not None and not isinstance(text, str):
        raise invalid("text", "a string", described(text))
    if against is not None and against == id:
        raise invalid("against", "another document than id", described(against))
    passing = None if filter is None else matching(state.snapshot, filter)
    asked: _ByWords | _ByVector
    if vector is None and text is not None:
        asked = _ByWords(state, text, effort.k, passing)
    else:
        asked = _ByVector.of(state, read_query(vector, state.model), text, effort, passing)
        if passing is None and effort.widens and len(asked.hits) < min(effort.k, state.snapshot.n_alive):
            asked = _ByVector.of(state, asked.queries.vectors[0], text, effort, every_document(state.snapshot))
    own = _explain(asked, id, passing, signs)
    if against is None:
        return own
    return replace(own, comparison=compare(own, _explain(asked, against, passing, signs)))


def _explain(asked: _ByWords | _ByVector, id: Id, passing: Matches | None, signs: SignedText | None) -> Explanation:
    state = asked.state
    hits = asked.hits
    place = state.snapshot.find_checked([id], name="id")[0]
    if place is None:
        return Explanation(id, "not in the index", asked.k, hits.n_scored)
    lowest = float(hits.scores[-1]) if len(hits) else None
    why = asked.explain(Explanation(id, "", asked.k, hits.n_scored, lowest_hit=lowest), place)
    why = replace(why, filtered=passing is not None)
    if passing is None or passing.parts[place.segment].has(place.doc):
        return why
    missing, excluded = ((), ()) if signs is None else failed_signs(state, place, signs)
    return replace(why, outcome="filtered out", missing_words=missing, excluded_words=excluded)


class _ByWords:
    """A search by words alone."""

    def __init__(self, state: State, text: str, k: int, passing: Matches | None) -> None:
        self.state, self.k = state, k
        self._text, self._passing = text, passing
        self.hits = execute_words(state, text, k, filter=passing)
        self._query = read_text(state, text, 0)

    def explain(self, why: Explanation, place: Place) -> Explanation:
        """Add what is known of a document of the index."""
        scores = score_words(self.state, place, self._query, 1.0)
        rank = None
        if scores.lexical > 0:
            every = execute_words(self.state, self._text, max(1, self.state.snapshot.n_alive), filter=self._passing)
            rank = _place_in(every, why.id)
        outcome = "found" if rank is not None and rank <= len(self.hits) else "outscored"
        return replace(
            why,
            outcome=outcome if scores.lexical > 0 else "no shared word",
            rank=rank,
            larger_k=rank if outcome == "outscored" else None,
            score=scores.lexical,
            lexical=scores.lexical,
            weight=1.0,
            words=scores.words,
            punctuation=scores.punctuation,
            unmatched_terms=unknown_words(self.state, place, self._query),
        )


@dataclass(frozen=True)
class _ByVector:
    """A search by a vector, or by a vector and words. ``effort`` and ``segments`` are what it opened in the end."""

    state: State
    effort: Effort
    segments: Any
    queries: Queries
    text: str | None
    query: QueryText
    hits: Hits
    #: What a point of BM25 is worth; 0 where words do not rank.
    weight: float
    filtered: bool

    @classmethod
    def of(cls, state: State, vector: Floats, text: str | None, effort: Effort, passing: Matches | None) -> _ByVector:
        """Search, and remember what was opened."""
        queries = with_terms(state.model, vector[None, :], [text], effort, 1)
        efforts = [(effort, False)] if passing is None else filtered_efforts(state, effort, passing)
        for own, exhaustive in efforts:
            segments = None if passing is None else passing.native(only=exhaustive)
            found = execute_native(state, queries, own, 1, segments)
            effort = own
            if passing is None or found[3][0] >= min(own.k, passing.n):
                break
        lists = effort.terms > 0 and effort.per_doc > 0
        query = read_text(state, text, effort.terms if lists else 0)
        weight = 0.0
        if queries.words is not None and len(queries.words):
            weight = effort.lexical * effort.spread
            weight *= state.model.native.word_weight(queries.vectors[0], queries.words)
        hits = make_hits(state.snapshot, found, k=effort.k, single=True)
        return cls(state, effort, segments, queries, text, query, hits, weight, passing is not None)

    @property
    def k(self) -> int:
        """How many hits were asked for."""
        return self.effort.k

    @property
    def n_clusters(self) -> int:
        """How many clusters were opened."""
        return self.effort.word_clusters if self.weight > 0 else self.effort.clusters

    @property
    def n_candidates(self) -> int | None:
        """How many of the documents scored are scored again; None if all scores are final."""
        return self.effort.words_depth if self.weight > 0 else self.effort.depth or None

    def explain(self, why: Explanation, place: Place) -> Explanation:
        """Add what is known of a document of the index."""
        state, effort = self.state, self.effort
        vector = self.queries.vectors[0]
        clusters = _clusters(state, place, vector)
        clusters, reached = _opened(state, vector, self.query.opened, effort, self.n_clusters, clusters)
        lists = match_lists(state, place, self.query, effort, reached, by_words=self.weight > 0)
        # Filters admit by themselves, notes too, and a budget may end inside a list: only the search itself knows.
        scored = _place_in(self._all_scored(), why.id) is not None
        rank = _place_in(self.hits, why.id)
        outcome = "found" if rank is not None else "outscored" if scored else "no shared list"
        rescored = rank is not None and self.n_candidates is not None
        larger = None
        if outcome == "outscored":
            rank, rescored = self._rank(why.id)
            if rescored or self.n_candidates is None or self.weight > 0:
                larger = self._larger_k(why.id, rank, rescored)
        return replace(
            why,
            outcome=outcome,
            rank=rank,
            rescored=rescored,
            n_candidates=self.n_candidates,
            larger_k=larger,
            clusters=clusters,
            **vars(lists),
            no_terms=_no_terms(state, self.text, effort, lists.query_terms),
            asked_clusters=self.n_clusters,
            asked_terms=effort.terms,
            budget=effort.budget,
            adaptive=effort.adaptive,
            no_vector=not self._has_vector(place),
            **self._scores(place),
        )

    def _has_vector(self, place: Place) -> bool:
        return place.doc < self.state.snapshot.segments[place.segment].segment.n_vectors

    def _search(self, effort: Effort) -> Hits:
        """Repeat the search with another effort that opens the same lists."""
        found = execute_native(self.state, self.queries, effort, 1, self.segments)
        return make_hits(self.state.snapshot, found, k=effort.k, single=True)

    def _all_scored(self) -> Hits:
        """All documents that were scored, to the end where words rank, else by the codec alone."""
        n = max(1, self.hits.n_scored)
        return self._search(replace(self.effort, k=n, candidates=n, depth=self.effort.depth if self.weight > 0 else 0))

    def _last_stage(self, k: int) -> Hits:
        """All documents that the search of the k best scores to the end, best first."""
        own = replace(self.effort, k=k)
        if self.weight > 0:
            return self._search(replace(own, k=own.words_depth, candidates=own.words_depth))
        return self._search(replace(own, k=max(1, self.hits.n_scored), depth=self.effort.depth // self.k * k))

    def _rank(self, id: Id) -> tuple[int, bool]:
        """Return the rank of a scored document, and whether it was scored to the end."""
        rank = _place_in(self._last_stage(self.k), id)
        if rank is not None:
            return rank, self.n_candidates is not None
        if not self.weight > 0:
            return _place_in(self._all_scored(), id) or 0, False
        low, high = self.effort.words_depth, self.hits.n_scored  # it is among the best high, not among the best low
        while high - low > 1:
            middle = (low + high) // 2
            among = _place_in(self._search(replace(self.effort, k=middle, candidates=middle)), id) is not None
            low, high = (low, middle) if among else (middle, high)
        return high, False

    def _larger_k(self, id: Id, rank: int, rescored: bool) -> int | None:
        """Return a number of hits that the document would be among."""
        if self.filtered:  # more clusters are opened for more hits
            return None
        k = rank
        if not rescored and self.n_candidates is not None:  # the fewest hits for which its words are read
            k = next(fewer for fewer in range(8 * rank // 9, rank + 1) if fewer + fewer // 8 >= rank)
        while k <= self.hits.n_scored:
            found = _place_in(self._last_stage(k), id) or k + 1
            if found <= k:
                return k
            k = found  # a larger k has more candidates, some of which may be better
        return None

    def _scores(self, place: Place) -> dict[str, Any]:
        model = self.state.model
        segment = self.state.snapshot.segments[place.segment].segment
        doc = np.array([place.doc], np.uint32)

        def score(refine: bool) -> float:
            return float(_native.score(model.native, segment.native, self.queries.vectors[0], refine, doc)[0])

        codec = score(False)
        refined = None if model.refine is None else score(True)
        exact = codec if isinstance(model.codec.spec, Flat) else None
        if model.refine is not None and isinstance(model.refine.spec, Flat):
            exact = refined
        dense = codec if refined is None or self.effort.depth == 0 else refined
        known = {"dense": dense, "codec_score": codec, "refine_score": refined, "exact_score": exact}
        if not self._has_vector(place):
            known = {"dense": codec}  # that of the mean document
        if not self.weight > 0:
            return {"score": dense, **known} if self._has_vector(place) else {}
        words = score_words(self.state, place, self.query, self.weight)
        return {
            "score": dense + self.weight * words.lexical,
            "lexical": words.lexical,
            "weight": self.weight,
            "words": words.words,
            "punctuation": words.punctuation,
            **known,
        }


def _place_in(hits: Hits, id: Id) -> int | None:
    """The rank of a document among hits."""
    ids = hits.ids.tolist()
    return ids.index(id) + 1 if id in ids else None


def _opened(
    state: State,
    query: Floats,
    query_terms: Array,
    effort: Effort,
    n_clusters: int,
    clusters: tuple[ClusterMatch, ...],
) -> tuple[tuple[ClusterMatch, ...], set[int]]:
    """The document's clusters with whether they were opened, and the query terms opened down to its cluster."""
    model = state.model
    if not effort.weighed:
        probed = set(model.native.probe(query, n_clusters).tolist())
        return tuple(replace(own, opened=own.cluster in probed) for own in clusters), set(query_terms.tolist())
    bins, opened, term_bins = _native.admission(model.native, state.snapshot.native, query, query_terms, effort.native)
    own = int(bins[clusters[0].cluster]) if clusters else 0
    matches = tuple(
        replace(match, opened=match.cluster in opened, place=_place(bins, match.cluster)) for match in clusters
    )
    return matches, {int(term) for term, end in zip(query_terms, term_bins, strict=True) if own < end}


def _place(bins: Array, cluster: int) -> int:
    """The rank of a cluster for a query that weighs its lists: by bin, then by number."""
    own = bins[cluster]
    return int((bins < own).sum() + (bins[: cluster + 1] == own).sum())


def _clusters(state: State, place: Place, query: Floats) -> tuple[ClusterMatch, ...]:
    model = state.model
    segment = state.snapshot.segments[place.segment].segment
    if model.clusters is None or place.doc >= segment.n_vectors:
        return ()
    order = model.native.probe(query, model.n_clusters)
    places = np.empty(model.n_clusters, np.int64)
    places[order] = np.arange(1, len(order) + 1)
    keys, offsets = segment.native.clusters()
    own = int(keys[np.searchsorted(offsets, place.doc, side="right") - 1])
    copies = segment.native.copies_of(place.doc).tolist()
    return tuple(
        ClusterMatch(cluster, int(places[cluster]), False, copy)
        for cluster, copy in [(own, False), *((c, True) for c in copies)]
    )


def _no_terms(state: State, text: str | None, effort: Effort, opened: tuple[str, ...]) -> str | None:
    """Why a query opened no term; None if it opened some."""
    if state.model.terms is None:
        return "the index was built without terms"
    if effort.terms == 0 or effort.per_doc == 0:
        return "the search skipped terms"
    if text is None:
        return "it has no text"
    return None if opened else "none of its words is known"
