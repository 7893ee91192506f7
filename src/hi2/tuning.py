"""Which setting is the cheapest that finds enough? Settings tried on sample queries, and what they promise for others.

Recall is agreement with brute force over the finest store, or with labels the share of brute force's own recall. What
adaptive search learns is learned on other queries than it is tried on, and a setting is chosen only if a target is
reached with room for chance, so that the promise holds on queries nobody has seen. Cost is documents scored plus
documents rescored: the same on every machine; time is measured beside it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hi2 import _native
from hi2.adapting import Benefit, Learned, learn
from hi2.arguments import integer, real
from hi2.errors import Error, InvalidParameter, MissingExtra, invalid
from hi2.filtering import Part, Passing
from hi2.ids import check_id
from hi2.model import Model
from hi2.profiles import Profile
from hi2.progress import Progress
from hi2.searching import DEFAULT_REFINE, Effort, read_queries, resolve_effort, search_native
from hi2.segment import alive_bits
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.snapshot import Snapshot
from hi2.store import State
from hi2.types import Array, Floats

#: Fewer queries say nothing that holds for others.
FEWEST = 20
#: Settings are tried on so many queries first; those that are plainly worse than cheaper ones on no more.
FIRST_LOOK = 100
#: What adaptive search learns is tried on the part of the queries that it was not learned from.
FOLDS = 4
#: A target must be reached by the mean less so many standard errors: it then holds for four of five samples of queries.
ROOM = 0.84
#: Profiles that are made where no target is given, and what they must find.
NAMED = {"fast": 0.90, "balanced": 0.95, "exact": 0.99}
#: Chances from which on adaptive search scores a document.
_SHARES = tuple(float(f"{0.3 * 0.8**i:.3g}") for i in range(36))


@dataclass(frozen=True)
class Tried:
    """A setting, and what it found and cost: means over the queries, and the standard error of what it found."""

    arguments: dict[str, Any]
    recall: float
    error: float
    documents: float
    cost: float
    microseconds: float
    benefit: Benefit = field(default_factory=Benefit, repr=False)

    @property
    def assured(self) -> float:
        """What is found with room for chance."""
        return self.recall - ROOM * self.error


@dataclass(frozen=True)
class Tuned:
    """The settings worth choosing, cheapest first, and the ``profiles`` that were made of them."""

    front: tuple[Tried, ...]
    profiles: dict[str, Profile]
    measure: str
    k: int
    n_queries: int

    def __str__(self) -> str:
        lines = [
            f"{self.measure}, k = {self.k}, {self.n_queries} queries",
            " recall   documents   µs a query   setting",
        ]
        chosen = {repr(own.arguments()): name for name, own in self.profiles.items()}
        for tried in self.front:
            name = chosen.get(repr(tried.arguments), "")
            said = ", ".join(f"{key}={value}" for key, value in tried.arguments.items())
            lines.append(
                f"{tried.recall:7.4f} {tried.documents:11,.0f} {tried.microseconds:12,.0f}   {said}  {name}".rstrip()
            )
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw recall against documents scored; needs the extra ``plots``."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra("A plot needs an extra; install it with: pip install 'hi2[plots]'") from error
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([own.documents for own in self.front], [own.recall for own in self.front], "o-", markersize=3)
        for name, profile in self.profiles.items():
            at = profile.promise["documents"], profile.promise["recall"]
            axes.plot(*at, "o", color="black")
            axes.annotate(name, at, xytext=(6, -12), textcoords="offset points", fontsize=9)
        axes.set(xlabel="documents scored", ylabel=f"{self.measure} at {self.k}", xscale="log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")  # after the scale, which has its own
        axes.grid(alpha=0.3)
        figure.savefig(path)


def tune(
    state: State,
    vectors: Any,
    texts: Any,
    *,
    relevant: Sequence[Sequence[Any]] | None,
    target: float | None,
    latency: float | None,
    budget: int | None,
    k: int,
    name: str | None,
    threads: int,
    progress: Progress,
) -> Tuned:
    """Try settings on queries, and choose: the cheapest that reaches a target, or the best within a limit."""
    goals = [given for given in (target, latency, budget) if given is not None]
    if len(goals) > 1:
        raise InvalidParameter("Only one of the 'target', 'latency' and 'budget' parameters must be given.")
    if target is not None:
        target = real("target", target, low=0, high=1)
    if latency is not None:
        latency = real("latency", latency, low=1e-9, high=1e9)
    if budget is not None:
        budget = integer("budget", budget, low=1)
    k = integer("k", k, low=1, high=10_000)
    queries, asked, _ = read_queries(vectors, texts, state.model)
    if state.snapshot.n_alive == 0:
        raise Error("There is nothing to tune: the index is empty.")
    if relevant is not None:
        queries, asked, relevant = _labelled_only(queries, asked, relevant)
    if len(queries) < FEWEST:
        which = "queries" if relevant is None else "queries with a relevant document in the index"
        raise invalid("queries", f"at least {FEWEST} {which}: fewer say nothing of others", len(queries))
    tuner = _Tuner(state, queries, asked, relevant, k, threads, progress)
    front = tuner.front(fastest=latency is not None)
    chosen = _chosen(front, target, latency, budget, name)
    made = {label: tuner.profile(tried, goal) for label, (tried, goal) in chosen.items()}
    return Tuned(tuple(front), made, tuner.measure, k, len(queries))


def _labelled_only(
    queries: Floats, texts: Sequence[str | None] | None, relevant: Sequence[Sequence[Any]]
) -> tuple[Floats, Sequence[str | None] | None, Sequence[Sequence[Any]]]:
    """Leave out queries without a label: nothing can be said of what they find."""
    if isinstance(relevant, str) or len(relevant) != len(queries):
        raise invalid("relevant", f"one list of ids a query ({len(queries)})", len(relevant))
    for row, ids in enumerate(relevant):
        if isinstance(ids, str) or not isinstance(ids, (Sequence, Set, np.ndarray)):
            raise invalid("relevant", "one list of ids a query", f"{ids!r} in row {row}")
    rows = [row for row, ids in enumerate(relevant) if len(ids)]
    own = None if texts is None else [texts[row] for row in rows]
    return np.ascontiguousarray(queries[rows]), own, [list(relevant[row]) for row in rows]


def _chosen(
    front: Sequence[Tried], target: float | None, latency: float | None, budget: int | None, name: str | None
) -> dict[str, tuple[Tried, dict[str, float]]]:
    """What is kept under which name, and what it was chosen for."""
    label = name or "tuned"
    if latency is not None:
        return {
            label: (
                _within(front, "latency", latency, [own.microseconds / 1000 for own in front]),
                {"latency": latency},
            )
        }
    if budget is not None:
        return {label: (_within(front, "budget", budget, [own.documents for own in front]), {"budget": budget})}
    wanted = NAMED if target is None else {label: target}
    found = {}
    for label, share in wanted.items():
        reach = [own for own in front if own.assured >= share]
        best = max(front, key=lambda own: own.assured)
        if not reach and target is not None:
            must = (
                f"at most what a setting reaches, {best.assured:.4f} with room for chance ({best.recall:.4f} measured)"
            )
            raise invalid("target", must, share)
        # What no setting reaches, a profile that nobody asked for by number comes as near to as it can.
        found[label] = (min(reach, key=lambda own: own.cost) if reach else best, {"target": share})
    return found


def _within(front: Sequence[Tried], name: str, limit: float, spent: Sequence[float]) -> Tried:
    """The best setting that spends no more than a limit."""
    fits = [own for own, cost in zip(front, spent, strict=True) if cost <= limit]
    if not fits:
        raise invalid(name, f"at least what the cheapest setting takes, {min(spent):.3g}", limit)
    return max(fits, key=lambda own: own.recall)


def learned_chances(state: State, queries: Floats, texts: Sequence[str | None] | None, *, k: int) -> Benefit:
    """Return what queries teach without labels: how likely candidates are to be among the k best."""
    return Benefit.fit(_Tuner(state, queries, texts, None, k, 1, Progress(False))._learned)


class _Tuner:
    """One tuning: the truth, what was learned, and what every setting finds."""

    def __init__(
        self,
        state: State,
        queries: Floats,
        texts: Sequence[str | None] | None,
        relevant: Sequence[Sequence[Any]] | None,
        k: int,
        threads: int,
        progress: Progress,
    ) -> None:
        self._state, self._queries, self._k, self._threads, self._bars = state, queries, k, threads, progress
        model = state.model
        self._offsets, self._terms = np.zeros(len(queries) + 1, np.uint64), np.zeros(0, np.uint32)
        if model.terms is not None and texts is not None:
            self._offsets, self._terms = model.terms.query_terms(texts, DEFAULT_QUERY_TERMS, threads=threads)
        self._with_terms = len(self._terms) > 0
        exact = self._exact()
        self.measure = "agreement with brute force" if relevant is None else "share of brute force's recall"
        self._wanted = exact if relevant is None else self._labelled(relevant)
        #: What each query's share is of: all that is wanted, or with labels what brute force finds of it, on average.
        shares = [len(own & found) / len(own) for own, found in zip(self._wanted, exact, strict=True) if own]
        self._whole = 1.0 if relevant is None else max(float(np.mean(shares)), 1e-9)
        self._learned = self._learn(exact if relevant is None else self._wanted)

    def _exact(self) -> list[set[tuple[int, int]]]:
        """The k best of every query over all documents by the finest store, as (segment, row)."""
        lives = self._state.snapshot.lives
        parts = tuple(Part(live.segment.n_docs, alive_bits(live.flags())) for live in lives)
        every = Passing(self._state.snapshot, parts)
        found: list[set[tuple[int, int]]] = []
        depth = 0 if self._state.model.refine is None else self._state.snapshot.n_alive
        effort = Effort(k=self._k, clusters=0, terms=0, per_doc=0, depth=depth).native
        with self._bars.phase("brute force", len(self._queries)) as advance:
            for begin in range(0, len(self._queries), 32):
                block = self._queries[begin : begin + 32]
                numbers, rows, _, counts, *_ = _native.search(
                    self._state.model.native,
                    every.native(only=True),
                    block,
                    np.zeros(len(block) + 1, np.uint64),
                    np.zeros(0, np.uint32),
                    effort,
                    self._threads,
                )
                found += _pairs(numbers, rows, counts)
                advance(len(block))
        return found

    def _labelled(self, relevant: Sequence[Sequence[Any]]) -> list[set[tuple[int, int]]]:
        snapshot = self._state.snapshot
        wanted: list[set[tuple[int, int]]] = []
        for ids in relevant:
            checked = [check_id(id, name="relevant") for id in ids]
            places = [place for place in snapshot.find(checked) if place is not None]
            wanted.append({(p.segment, snapshot.lives[p.segment].segment.row_of(p.doc)) for p in places})
        if sum(map(bool, wanted)) < FEWEST:
            must = f"ids of documents in the index for at least {FEWEST} queries"
            raise invalid("relevant", must, f"{sum(map(bool, wanted))}")
        return wanted

    def _learn(self, best: list[set[tuple[int, int]]]) -> list[Learned]:
        with self._bars.phase("weigh candidates", len(self._queries)) as advance:
            return learn(self._state.model, self._state.snapshot, self._queries, self._own_terms(), best, advance)

    def _own_terms(self) -> list[Array]:
        return [self._terms[int(a) : int(b)] for a, b in zip(self._offsets[:-1], self._offsets[1:], strict=True)]

    def front(self, *, fastest: bool) -> list[Tried]:
        """Return the settings that no cheaper (or faster) one equals, cheapest first."""

        def cost(own: Tried) -> float:
            return own.microseconds if fastest else own.cost

        settings = list(_settings(self._state.model, self._state.snapshot, with_terms=self._with_terms))
        self._benefit = Benefit.fit(self._learned)
        n = len(self._queries)
        benefits = [
            Benefit.fit([own for i, own in enumerate(self._learned) if i % FOLDS != part]) for part in range(FOLDS)
        ]

        def try_all(settings: list[dict[str, Any]], n: int) -> list[Tried]:
            found = []
            folds = [np.arange(part, n, FOLDS) for part in range(FOLDS)]
            with self._bars.phase(f"try settings on {n} queries", len(settings)) as advance:
                for arguments in settings:
                    found.append(self._try(arguments, folds, benefits))
                    advance(1)
            return found

        if n > FIRST_LOOK:  # most settings are not worth trying on all
            settings = _promising(try_all(settings, FIRST_LOOK), cost)
        tried = try_all(settings, n)
        best, front = -1.0, []
        for own in sorted(tried, key=lambda own: (cost(own), -own.recall)):
            if own.recall > best:
                front.append(own)
                best = own.recall
        return front

    def _try(self, arguments: dict[str, Any], folds: list[Array], benefits: list[Benefit]) -> Tried:
        """What a setting finds, every query weighed by what was learned from those of other folds."""
        n = sum(len(rows) for rows in folds)
        found = np.zeros(n)
        scored = np.zeros(n)
        spent = 0.0
        for rows, benefit in zip(folds, benefits, strict=True):
            effort = resolve_effort(self._state.model, k=self._k, **arguments, benefit=benefit)
            begin = time.perf_counter()
            numbers, places, _, counts, own, _ = self._search(effort, rows)
            spent += time.perf_counter() - begin
            scored[rows] = own
            for row, pairs in zip(rows.tolist(), _pairs(numbers, places, counts), strict=True):
                found[row] = len(pairs & self._wanted[row]) / max(len(self._wanted[row]), 1)
        asked = np.array([len(own) > 0 for own in self._wanted[:n]])
        shares = found[asked] / self._whole
        rescored = 0 if self._state.model.refine is None else self._k * arguments.get("refine", DEFAULT_REFINE)
        documents = float(scored.mean())
        return Tried(
            arguments,
            recall=float(shares.mean()),
            error=float(shares.std(ddof=1) / math.sqrt(len(shares))) if len(shares) > 1 else 1.0,
            documents=documents,
            cost=documents + min(rescored, documents),
            microseconds=1e6 * spent / n,
        )

    def _search(self, effort: Effort, rows: Array) -> tuple[Array, ...]:
        own = self._own_terms() if effort.terms and effort.per_doc else [np.zeros(0, np.uint32)] * len(self._queries)
        mine = [own[i][: effort.terms] for i in rows]
        offsets = np.append(0, np.cumsum([len(terms) for terms in mine])).astype(np.uint64)
        terms = np.concatenate(mine).astype(np.uint32)
        return search_native(self._state, np.ascontiguousarray(self._queries[rows]), offsets, terms, effort, threads=1)

    def profile(self, tried: Tried, goal: dict[str, float]) -> Profile:
        """Return a setting as a profile of the index's model."""
        promise = {
            **goal,
            "measure": self.measure,
            "k": self._k,
            "queries": len(self._queries),
            "index_documents": self._state.snapshot.n_alive,
            "recall": tried.recall,
            "standard_error": tried.error,
            "documents": tried.documents,
            "microseconds": tried.microseconds,
        }
        made = Profile(**tried.arguments, promise=promise, model=self._state.model.fingerprint)
        return replace(made, benefit=self._benefit) if made.adaptive is not None else made


def _promising(tried: Sequence[Tried], cost: Callable[[Tried], float]) -> list[dict[str, Any]]:
    """The settings that may be on the front: none that is cheaper finds more by a standard error."""
    kept, best = [], -1.0
    for own in sorted(tried, key=cost):
        if own.recall + own.error >= best:
            kept.append(own.arguments)
        best = max(best, own.recall)
    return kept


def _settings(model: Model, snapshot: Snapshot, *, with_terms: bool) -> list[dict[str, Any]]:
    """The settings worth trying: fixed ones and adaptive ones, with deeper and shallower refinement."""
    n = model.n_clusters
    probes = [
        0,
        *(2**i for i in range(n.bit_length()) if 2**i < n),
        *(3 * 2**i for i in range(n.bit_length()) if 3 * 2**i < n),
        n,
    ]
    probes = sorted(set(probes)) if n else [0]
    depths = sorted({0, max(1, model.per_doc // 4), max(1, model.per_doc // 2), model.per_doc}) if with_terms else [0]
    fixed: list[dict[str, Any]] = [{"clusters": c, "per_doc": p} for c in probes for p in depths if c or p]
    if with_terms:
        fixed += [{"clusters": c, "per_doc": model.per_doc, "terms": 6} for c in probes]
    adaptive: list[dict[str, Any]] = [{"adaptive": share} for share in _SHARES]
    if with_terms and n:
        adaptive += [{"adaptive": share, "clusters": 0} for share in _SHARES[::2]]
    if model.refine is None:
        return fixed + adaptive
    return [{**own, "refine": rounds} for own in fixed + adaptive for rounds in (1, 4, 16, 64)]


def _pairs(numbers: Array, rows: Array, counts: Array) -> list[set[tuple[int, int]]]:
    listed = zip(numbers.tolist(), rows.tolist(), counts.tolist(), strict=True)
    return [set(zip(number[:count], row[:count], strict=True)) for number, row, count in listed]
