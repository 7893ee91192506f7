"""Why is this document among the hits, or why not? The lists that hold it, its scores, its rank."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hi2 import _native
from hi2.codecs import Flat
from hi2.errors import FormatError, described
from hi2.search.effort import Effort
from hi2.search.execute import execute
from hi2.search.query import read_query
from hi2.state.index_state import State
from hi2.state.snapshot import Place
from hi2.types import Array, Floats, Hits, Id


@dataclass(frozen=True)
class ClusterMatch:
    """A cluster that the document is filed under: its rank for the query, and whether the query opened it.

    A query that weighs its lists ranks clusters by bins of similar score, and by number within a bin.
    """

    cluster: int
    place: int
    opened: bool
    copy: bool


@dataclass(frozen=True)
class TermMatch:
    """A query term that the document is filed under: its rank among the document's terms, and whether it counts.

    A term counts if its rank is below ``per_doc``. A query that weighs its lists opens each down to some cluster.
    """

    term: str
    rank: int
    counts: bool
    opened: bool


@dataclass(frozen=True)
class Explanation:
    """What a search did with one document. ``str`` says it in words, ``to_dict`` returns plain data.

    ``outcome`` is 'found', 'outscored', 'no shared list' or 'not in the index'. ``score`` is the codec's score,
    ``refine_score`` that of the refine store, ``exact_score`` the inner product where full vectors are stored. ``rank``
    counts from 1, by the refine store if ``rescored``, otherwise by the codec among all documents scored.
    ``asked_clusters``, ``budget`` and ``adaptive`` are the arguments of the search.
    """

    id: Id
    outcome: str
    k: int
    n_scored: int
    rank: int | None = None
    rescored: bool = False
    score: float | None = None
    refine_score: float | None = None
    exact_score: float | None = None
    lowest_hit: float | None = None
    clusters: tuple[ClusterMatch, ...] = ()
    terms: tuple[TermMatch, ...] = ()
    query_terms: tuple[str, ...] = ()
    unmatched_terms: tuple[str, ...] = ()
    no_terms: str | None = None
    asked_clusters: int = 0
    budget: int | None = None
    adaptive: float | None = None
    filtered: bool = False

    @property
    def weighed(self) -> bool:
        """Whether the query weighed its lists."""
        return self.budget is not None or self.adaptive is not None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        name = described(self.id)
        if self.outcome == "not in the index":
            return f"{name} is not in the index."
        lines = []
        if self.outcome == "found":
            lines.append(f"{name} was found at rank {self.rank} of {self.n_scored} documents scored.")
        elif self.outcome == "outscored":
            lines.append(f"{name} was scored but is not among the best {self.k}: rank {self.rank} of {self.n_scored}.")
            if self.refine_score is not None and not self.rescored:
                lines.append("The codec ranks it too low to be rescored: ask for a deeper refine or a finer codec.")
            else:
                lines.append(f"The last hit has {self.lowest_hit:.4f}: ask for a larger k.")
        else:
            lines.append(f"{name} was not scored: no list the query opened holds it{self._or_filtered()}.")
            lines += [] if self.filtered else self._way_in()
        for cluster in self.clusters:
            how = "a further cluster" if cluster.copy else "its cluster"
            asked = cluster.place <= self.asked_clusters and self.weighed
            state = "opened" if cluster.opened else "too little is expected of it" if asked else "not opened"
            said = "" if self.filtered else f": {state}"
            lines.append(f"- {how} {cluster.cluster} is number {cluster.place} for this query{said}.")
        for term in self.terms:
            unopened = "not opened as far as its cluster" if term.counts else "beyond per_doc, not counted"
            state = "opened" if term.counts and term.opened else unopened
            lines.append(f"- its term {term.term!r} (number {term.rank + 1} of the document) is in the query: {state}.")
        if self.no_terms is not None:
            lines.append(f"- the query opened no term: {self.no_terms}.")
        elif not self.terms:
            lines.append(f"- it is filed under none of the query's terms ({', '.join(self.query_terms)}).")
        if self.unmatched_terms:
            lines.append(f"- no document is filed under: {', '.join(self.unmatched_terms)}.")
        scores = [("codec", self.score), ("refine", self.refine_score), ("exact", self.exact_score)]
        known = ", ".join(f"{kind} {value:.4f}" for kind, value in scores if value is not None)
        lines.append(f"- score: {known}.")
        return "\n".join(lines)

    def _or_filtered(self) -> str:
        return ", or the filter leaves it out" if self.filtered else ""

    def _way_in(self) -> list[str]:
        """What would have admitted the document."""
        nearest = min((match.place for match in self.clusters), default=None)
        if any(match.opened for match in self.clusters) or any(match.counts and match.opened for match in self.terms):
            return ["The budget ended before it was reached: a larger one would reach it."]
        budget = [] if self.budget is None else ["a larger budget"]
        wider = " and ".join([*budget, *([] if self.adaptive is None else ["a lower adaptive"])])
        if (nearest or self.asked_clusters + 1) <= self.asked_clusters or any(match.counts for match in self.terms):
            return [f"{wider[:1].upper()}{wider[1:]} would reach it."]
        more = f" with {wider}" if wider else ""
        return [] if nearest is None else [f"Opening {nearest} clusters (clusters={nearest}){more} would reach it."]


def explain(state: State, vector: Any, text: str | None, effort: Effort, *, id: Id, filter: Any = None) -> Explanation:
    """Return why ``id`` is or is not among the best. It looks into the lists and repeats the search."""

    def search(state: State, vector: Any, text: str | None, effort: Effort) -> Hits:
        return execute(state, vector, text, effort, filter=filter)

    hits = search(state, vector, text, effort)
    place = state.snapshot.find([id])[0]
    if place is None:
        return Explanation(id, "not in the index", effort.k, hits.n_scored)
    query = read_query(vector, state.model)
    terms_of_query = _query_terms(state, text, effort)
    clusters = _clusters(state, place, query, effort)
    clusters, opened_terms = _opened(state, query, terms_of_query, effort, clusters)
    terms, query_terms, unmatched = _terms(state, place, text, effort, terms_of_query, opened_terms)
    admitted = any(match.opened for match in clusters) or any(match.counts and match.opened for match in terms)
    if filter is not None or effort.budget is not None:
        # A filter opens more than was asked for, and a budget may end inside a list: only the search itself knows.
        every = replace(effort, k=max(1, hits.n_scored), depth=0)
        admitted = id in search(state, vector, text, every).ids.tolist()

    ids = hits.ids.tolist()
    rank = ids.index(id) + 1 if id in ids else None
    rescored = effort.depth > 0 and rank is not None
    if rank is None and admitted:
        rank, rescored = _rank(search, state, vector, text, replace(effort, k=hits.n_scored), id)
    return Explanation(
        id=id,
        outcome="found" if id in ids else "outscored" if admitted else "no shared list",
        k=effort.k,
        n_scored=hits.n_scored,
        rank=rank,
        rescored=rescored,
        lowest_hit=float(hits.scores[-1]) if len(hits) else None,
        clusters=clusters,
        terms=terms,
        query_terms=query_terms,
        unmatched_terms=unmatched,
        no_terms=_no_terms(state, text, effort, query_terms),
        asked_clusters=effort.clusters,
        budget=effort.budget,
        adaptive=effort.adaptive,
        filtered=filter is not None,
        **_scores(state, place, query),
    )


def _rank(search: Any, state: State, vector: Any, text: str | None, effort: Effort, id: Id) -> tuple[int, bool]:
    """Return the rank of a scored document, and whether the refine store rescored it."""
    if effort.depth > 0:
        rescored = search(state, vector, text, effort).ids.tolist()
        if id in rescored:
            return rescored.index(id) + 1, True
    by_codec = search(state, vector, text, replace(effort, depth=0)).ids.tolist()
    if id not in by_codec:
        raise FormatError(f"The index is damaged: {described(id)} is filed but cannot be scored. Run verify().")
    return by_codec.index(id) + 1, False


def _query_terms(state: State, text: str | None, effort: Effort) -> Array:
    """Return the terms that a search opens, even if no document is filed under them."""
    selector = state.model.terms
    if selector is None or text is None or effort.terms == 0 or effort.per_doc == 0:
        return np.zeros(0, np.uint32)
    return selector.query_terms([text], effort.terms)[1]


def _opened(
    state: State, query: Floats, query_terms: Array, effort: Effort, clusters: tuple[ClusterMatch, ...]
) -> tuple[tuple[ClusterMatch, ...], set[int]]:
    """The document's clusters with whether they were opened, and the query terms opened down to its cluster."""
    model = state.model
    if not effort.weighed:
        probed = set(model.native.probe(query, effort.clusters).tolist())
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


def _clusters(state: State, place: Place, query: Floats, effort: Effort) -> tuple[ClusterMatch, ...]:
    model = state.model
    if model.clusters is None:
        return ()
    segment = state.snapshot.segments[place.segment].segment
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


def _terms(
    state: State, place: Place, text: str | None, effort: Effort, query_terms: Array, opened: set[int]
) -> tuple[tuple[TermMatch, ...], tuple[str, ...], tuple[str, ...]]:
    selector = state.model.terms
    if selector is None or text is None or len(query_terms) == 0:
        return (), (), ()
    named = selector.tokenizer.names(text)
    matches, unmatched = [], []
    for term in query_terms.tolist():
        docs, ranks = state.snapshot.segments[place.segment].segment.native.term_list(term)
        at = np.flatnonzero(docs == place.doc)
        if len(at):
            rank = int(ranks[at[0]])
            matches.append(TermMatch(named[term], rank, rank < effort.per_doc, term in opened))
        elif all(not len(live.segment.native.term_list(term)[0]) for live in state.snapshot.segments):
            unmatched.append(named[term])
    names = tuple(named[term] for term in query_terms.tolist())
    return tuple(matches), names, tuple(unmatched)


def _no_terms(state: State, text: str | None, effort: Effort, opened: tuple[str, ...]) -> str | None:
    """Why a query opened no term; None if it opened some."""
    if state.model.terms is None:
        return "the index was built without terms"
    if effort.terms == 0 or effort.per_doc == 0:
        return "the search skipped terms"
    if text is None:
        return "it has no text"
    return None if opened else "none of its tokens is known"


def _scores(state: State, place: Place, query: Floats) -> dict[str, float | None]:
    model = state.model
    segment = state.snapshot.segments[place.segment].segment
    doc = np.array([place.doc], np.uint32)
    score = float(_native.score(model.native, segment.native, query, False, doc)[0])
    refined = None
    if model.refine is not None:
        refined = float(_native.score(model.native, segment.native, query, True, doc)[0])
    exact = score if isinstance(model.codec.spec, Flat) else None
    if model.refine is not None and isinstance(model.refine.spec, Flat):
        exact = refined
    return {"score": score, "refine_score": refined, "exact_score": exact}
