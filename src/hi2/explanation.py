"""Why is this document among the hits, or why not? The lists that admit it, its scores, its rank."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hi2 import _native
from hi2.codecs import Flat
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.snapshot import Place
from hi2.store import State
from hi2.types import Id
from hi2.vectors import open_vectors

if TYPE_CHECKING:
    from hi2.index import HybridIndex


@dataclass(frozen=True)
class ClusterMatch:
    """A cluster the document is filed under: its place among those the query ranks, and whether it was opened."""

    cluster: int
    place: int
    opened: bool
    copy: bool


@dataclass(frozen=True)
class TermMatch:
    """A query term the document is filed under: its rank among the document's terms, and whether that counts."""

    term: str
    rank: int
    counts: bool


@dataclass(frozen=True)
class Explanation:
    """What a search did with one document. ``str`` says it in words, ``to_dict`` gives plain data.

    ``outcome`` is 'found', 'outscored', 'no shared list' or 'not in the index'. ``score`` is the codec's,
    ``refine_score`` the refine store's, ``exact_score`` the inner product where full vectors are kept. ``rank`` counts
    from 1 among the documents scored.
    """

    id: Id
    outcome: str
    k: int
    n_scored: int
    rank: int | None = None
    score: float | None = None
    refine_score: float | None = None
    exact_score: float | None = None
    lowest_hit: float | None = None
    clusters: tuple[ClusterMatch, ...] = ()
    terms: tuple[TermMatch, ...] = ()
    query_terms: tuple[str, ...] = ()
    unmatched_terms: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        name = repr(self.id)
        if self.outcome == "not in the index":
            return f"{name} is not in the index."
        lines = []
        if self.outcome == "found":
            lines.append(f"{name} was found at rank {self.rank} of {self.n_scored} documents scored.")
        elif self.outcome == "outscored":
            lines.append(
                f"{name} was scored but is not among the best {self.k}: rank {self.rank} of {self.n_scored}, "
                f"score {self.score:.4f} where the last hit has {self.lowest_hit:.4f}. Ask for a larger k"
                + (", a deeper refine, or use a finer codec." if self.refine_score is not None else ".")
            )
        else:
            lines.append(f"{name} was not scored: no list the query opened holds it.")
            nearest = min((match.place for match in self.clusters), default=None)
            if nearest is not None:
                lines.append(f"Opening {nearest} clusters (clusters={nearest}) would reach it.")
        for cluster in self.clusters:
            how = "a further cluster" if cluster.copy else "its cluster"
            state = "opened" if cluster.opened else "not opened"
            lines.append(f"- {how} {cluster.cluster} is number {cluster.place} for this query: {state}.")
        for term in self.terms:
            state = "opened" if term.counts else "beyond per_doc, not counted"
            lines.append(f"- its term {term.term!r} (number {term.rank + 1} of the document) is in the query: {state}.")
        if not self.query_terms:
            lines.append("- the query opened no term: it has no text, or none of its tokens is known.")
        elif not self.terms:
            lines.append(f"- it is filed under none of the query's terms ({', '.join(self.query_terms)}).")
        if self.unmatched_terms:
            lines.append(f"- no document is filed under: {', '.join(self.unmatched_terms)}.")
        scores = [("codec", self.score), ("refine", self.refine_score), ("exact", self.exact_score)]
        known = ", ".join(f"{kind} {value:.4f}" for kind, value in scores if value is not None)
        lines.append(f"- score: {known}.")
        return "\n".join(lines)


def explain(
    index: HybridIndex,
    state: State,
    vector: Any,
    text: str | None,
    *,
    id: Id,
    k: int,
    clusters: int | None,
    terms: int | None,
    per_doc: int | None,
    refine: int | None,
) -> Explanation:
    """Return why ``id`` is or is not among the ``k`` best, by asking the lists and repeating the search."""
    hits = index.search(vector, text, k=k, clusters=clusters, terms=terms, per_doc=per_doc, refine=refine)
    place = state.snapshot.find([id])[0]
    if place is None:
        return Explanation(id, "not in the index", k, hits.n_scored)
    model = state.model
    query = open_vectors(np.asarray(vector)[None, :], metric=model.metric).read(slice(0, 1))[0]
    probes = clusters if clusters is not None else model.clusters.default_probes if model.clusters is not None else 0
    cluster_matches = _clusters(state, place, query, probes)
    term_matches, query_terms, unmatched = _terms(state, place, text, terms, per_doc)
    admitted = any(match.opened for match in cluster_matches) or any(match.counts for match in term_matches)

    ids = hits.ids.tolist()
    rank: int | None = ids.index(id) + 1 if id in ids else None
    if rank is None and admitted:
        every = index.search(
            vector, text, k=max(hits.n_scored, 1), clusters=clusters, terms=terms, per_doc=per_doc, refine=refine
        )
        rank = every.ids.tolist().index(id) + 1
    scores = _scores(state, place, query)
    return Explanation(
        id=id,
        outcome="found" if id in ids else "outscored" if admitted else "no shared list",
        k=k,
        n_scored=hits.n_scored,
        rank=rank,
        lowest_hit=float(hits.scores[-1]) if len(hits) else None,
        clusters=cluster_matches,
        terms=term_matches,
        query_terms=query_terms,
        unmatched_terms=unmatched,
        **scores,
    )


def _clusters(state: State, place: Place, query: Any, probes: int) -> tuple[ClusterMatch, ...]:
    model = state.model
    if model.clusters is None:
        return ()
    segment = state.snapshot.lives[place.segment].segment
    order = model.native.probe(query, model.n_clusters)
    places = np.empty(model.n_clusters, np.int64)
    places[order] = np.arange(1, len(order) + 1)
    keys, offsets = segment.native.clusters()
    own = int(keys[np.searchsorted(offsets, place.doc, side="right") - 1])
    copies = [int(c) for c in range(model.n_clusters) if place.doc in segment.native.copy_list(c)[0]] if (
        segment.meta.n_copy_lists
    ) else []
    return tuple(
        ClusterMatch(cluster, int(places[cluster]), bool(places[cluster] <= probes), copy)
        for cluster, copy in [(own, False), *((c, True) for c in copies)]
    )


def _terms(
    state: State, place: Place, text: str | None, n_terms: int | None, per_doc: int | None
) -> tuple[tuple[TermMatch, ...], tuple[str, ...], tuple[str, ...]]:
    selector = state.model.terms
    if selector is None or text is None:
        return (), (), ()
    limit = DEFAULT_QUERY_TERMS if n_terms is None else n_terms
    deepest = state.model.per_doc if per_doc is None else per_doc
    _, opened = selector.query_terms([text], limit)
    matches, unmatched = [], []
    for term in opened.tolist():
        docs, ranks = state.snapshot.lives[place.segment].segment.native.term_list(term)
        at = np.flatnonzero(docs == place.doc)
        if len(at):
            rank = int(ranks[at[0]])
            matches.append(TermMatch(selector.tokenizer.name(term), rank, rank < deepest))
        elif all(not len(live.segment.native.term_list(term)[0]) for live in state.snapshot.lives):
            unmatched.append(selector.tokenizer.name(term))
    names = tuple(selector.tokenizer.name(term) for term in opened.tolist())
    return tuple(matches), names, tuple(unmatched)


def _scores(state: State, place: Place, query: Any) -> dict[str, float | None]:
    model = state.model
    segment = state.snapshot.lives[place.segment].segment
    doc = np.array([place.doc], np.uint32)
    score = float(_native.score(model.native, segment.native, query, False, doc)[0])
    refined = None
    if model.refine is not None:
        refined = float(_native.score(model.native, segment.native, query, True, doc)[0])
    exact = score if isinstance(model.codec.spec, Flat) else None
    if model.refine is not None and isinstance(model.refine.spec, Flat):
        exact = refined
    return {"score": score, "refine_score": refined, "exact_score": exact}
