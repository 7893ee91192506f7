"""Which setting is the cheapest that finds enough? Settings are tried on sample queries; the best are chosen.

Recall is agreement with brute force over the finest store, by vectors alone. With labels it is the share of brute
force's own recall. The weight of words is then learned first, with the default effort, and every setting is tried with
it. Brute force then is the search with this weight that has every document as a candidate.

The weights of adaptive search are learned on other queries than they are tried on. A setting is chosen only if it
reaches a target with a margin for chance, so that the promise holds for queries nobody has seen. Cost is documents
scored plus documents rescored, which is the same on every machine; time is measured too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hi2.arguments import integer, real, thread_count
from hi2.encoders.encoder import Encoder
from hi2.errors import Error, InvalidParameter, MissingExtra, described, invalid
from hi2.progress import AnyProgress, Progress
from hi2.search.candidates import every_document
from hi2.search.effort import Effort, resolve_effort
from hi2.search.execute import execute_native
from hi2.search.query import encode_texts, read_queries, with_terms
from hi2.state.benefit import Benefit
from hi2.state.index_state import State
from hi2.state.profile import Profile, check_profile_name
from hi2.state.snapshot import row_ids
from hi2.tuning.judged import Grades, Relevant, read_relevant
from hi2.tuning.list_weights import Examples, collect_examples, fit_benefit
from hi2.tuning.trials import (
    Configured,
    Outcome,
    Sample,
    Tried,
    join_outcomes,
    promising,
    settings_to_try,
    summarise,
    try_searcher,
)
from hi2.tuning.word_weight import WEIGHTS, WordWeight, learn_weight
from hi2.types import Array, Floats, Id

#: Fewer queries give no meaningful estimate for others.
MIN_QUERIES = 20
#: Settings are first tried on this many queries; those that are clearly worse than cheaper ones are tried on no more.
N_FIRST_QUERIES = 100
#: Cross-validation folds: the weights of adaptive search are tried on queries that they were not learned from.
N_FOLDS = 4
#: The profiles that are made if no target is given, and the recall they must reach.
DEFAULT_TARGETS = {"fast": 0.90, "balanced": 0.95, "exact": 0.99}


@dataclass(frozen=True)
class Tuned:
    """The settings worth choosing, cheapest first, and the ``profiles`` that were made of them.

    ``lexical`` is the weight of words that labels taught; None without labels, texts or bags.
    """

    front: tuple[Tried, ...]
    profiles: dict[str, Profile]
    measure: str
    k: int
    n_queries: int
    lexical: WordWeight | None = None

    def __str__(self) -> str:
        lines = [
            f"{self.measure}, k = {self.k}, {self.n_queries} queries",
            " recall   documents     µs/query   setting",
        ]
        for tried in self.front:
            name = ", ".join(name for name, own in self.profiles.items() if own.arguments() == tried.arguments)
            said = ", ".join(f"{key}={value}" for key, value in tried.arguments.items())
            lines.append(
                f"{tried.recall:7.4f} {tried.documents:11,.0f} {tried.microseconds:12,.0f}   {said}  {name}".rstrip()
            )
        if self.lexical is not None:
            lines.append(str(self.lexical))
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw recall against documents scored. Needs the extra ``plots``."""
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
    encoder: Callable[[], Encoder | None],
    relevant: Sequence[Relevant] | None,
    target: float | None,
    latency: float | None,
    budget: int | None,
    k: int,
    name: str | None,
    threads: int | None,
    progress: AnyProgress,
    keep: Callable[[Mapping[str, Profile]], None],
) -> Tuned:
    """Try settings on queries; choose the cheapest that reaches a target, or the best within a limit.

    ``keep`` is called with the profiles that were made.
    """
    goals = [given for given in (target, latency, budget) if given is not None]
    if name is not None:
        check_profile_name(name)
        if not goals:
            raise invalid("name", "left out without a target, a latency or a budget", described(name))
    vectors, texts = encode_texts(vectors, texts, encoder, state.model)
    if vectors is None:
        raise invalid("queries", "vectors, or texts where the index has an encoder", "text alone")
    if len(goals) > 1:
        raise InvalidParameter("Only one of the 'target', 'latency' and 'budget' parameters must be given.")
    if target is not None:
        target = real("target", target, low=0, high=1)
    if latency is not None:
        latency = real("latency", latency, low=1e-9, high=1e9)
    if budget is not None:
        budget = integer("budget", budget, low=1, high=2**63 - 1)
    k = integer("k", k, low=1, high=10_000)
    queries, asked, _ = read_queries(vectors, texts, state.model)
    if state.snapshot.n_alive == 0:
        raise Error("There is nothing to tune: the index is empty.")
    grades = None
    if relevant is not None:
        queries, asked, grades = _labelled_only(queries, asked, read_relevant(relevant, len(queries)))
    if len(queries) < MIN_QUERIES:
        which = "queries" if relevant is None else "queries with a relevant document in the index"
        raise invalid("queries", f"at least {MIN_QUERIES} {which}: fewer say nothing of others", len(queries))
    tuner = _Tuner(state, queries, asked, grades, k, thread_count(threads), Progress.of(progress))
    front = tuner.front(fastest=latency is not None)
    chosen = _choose(front, target, latency, budget, name)
    made = {label: tuner.profile(tried, goal) for label, (tried, goal) in chosen.items()}
    keep(made)
    return Tuned(tuple(front), made, tuner.measure, k, len(queries), tuner.lexical)


def _labelled_only(
    queries: Floats, texts: Sequence[str | None] | None, grades: Sequence[Grades]
) -> tuple[Floats, Sequence[str | None] | None, list[Grades]]:
    """Leave out queries without labels: nothing can be said about what they find."""
    rows = [row for row, own in enumerate(grades) if own]
    own = None if texts is None else [texts[row] for row in rows]
    return np.ascontiguousarray(queries[rows]), own, [grades[row] for row in rows]


def _choose(
    front: Sequence[Tried], target: float | None, latency: float | None, budget: int | None, name: str | None
) -> dict[str, tuple[Tried, dict[str, float]]]:
    """The settings that become profiles, by name, each with the goal it was chosen for."""
    label = name or "tuned"
    if latency is not None:
        return {
            label: (
                _best_within(front, "latency", latency, [own.microseconds / 1000 for own in front]),
                {"latency": latency},
            )
        }
    if budget is not None:
        return {label: (_best_within(front, "budget", budget, [own.documents for own in front]), {"budget": budget})}
    wanted = DEFAULT_TARGETS if target is None else {label: target}
    found = {}
    for label, share in wanted.items():
        enough = [own for own in front if own.assured >= share]
        best = max(front, key=lambda own: own.assured)
        if not enough and target is not None:
            must = (
                f"at most what a setting reaches, {best.assured:.4f} with room for chance ({best.recall:.4f} measured)"
            )
            raise invalid("target", must, share)
        # A default target that no setting reaches gets the best setting there is.
        found[label] = (min(enough, key=lambda own: own.cost) if enough else best, {"target": share})
    return found


def _best_within(front: Sequence[Tried], name: str, limit: float, spent: Sequence[float]) -> Tried:
    """The best setting whose cost is within a limit."""
    fits = [own for own, cost in zip(front, spent, strict=True) if cost <= limit]
    if not fits:
        raise invalid(name, f"at least what the cheapest setting takes, {min(spent):.3g}", limit)
    return max(fits, key=lambda own: own.recall)


def learn_benefit(state: State, queries: Floats, texts: Sequence[str | None] | None, *, k: int) -> Benefit:
    """Return the weights that queries teach without labels: how likely candidates are to be among the k best."""
    return fit_benefit(_Tuner(state, queries, texts, None, k, 1, Progress(False)).examples)


class _Tuner:
    """One tuning: what the queries should find, what was learned, and what every setting finds."""

    def __init__(
        self,
        state: State,
        queries: Floats,
        texts: Sequence[str | None] | None,
        grades: Sequence[Grades] | None,
        k: int,
        threads: int,
        progress: Progress,
    ) -> None:
        self._state, self._k, self._threads, self._bars = state, k, threads, progress
        self.measure = "agreement with brute force" if grades is None else "share of brute force's recall"
        rows: list[set[tuple[int, int]]] | None = None
        if grades is not None:
            rows, grades = self._labelled(grades)
        self.lexical = self._learn_weight(queries, texts, grades)
        self._weight = 0.0 if self.lexical is None else self.lexical.weight
        default = resolve_effort(state.model, k=k, lexical=self._weight)
        self._queries = with_terms(state.model, queries, texts, default, threads)
        nearest, ids = self._exact(default)
        wanted = ids if grades is None else [set(own) for own in grades]
        self._sample = Sample(queries, texts, wanted)
        #: The share that counts as 1: all that is wanted, or with labels what brute force finds of it on average.
        shares = [len(own & found) / len(own) for own, found in zip(wanted, ids, strict=True) if own]
        self._whole = 1.0 if grades is None else max(float(np.mean(shares)), 1e-9)
        self.examples = self._collect_examples(nearest if rows is None else rows)

    def _learn_weight(
        self, queries: Floats, texts: Sequence[str | None] | None, grades: Sequence[Grades] | None
    ) -> WordWeight | None:
        """The weight of words, learned from the queries with a label; None where there is nothing to weigh."""
        if grades is None or texts is None or self._state.model.evidence is None:
            return None
        known = [row for row, own in enumerate(grades) if own]
        with self._bars.phase("weigh words", len(WEIGHTS)) as advance:
            return learn_weight(
                self._state,
                np.ascontiguousarray(queries[known]),
                [texts[row] for row in known],
                [grades[row] for row in known],
                threads=self._threads,
                report=advance,
            )

    def _exact(self, effort: Effort) -> tuple[list[set[tuple[int, int]]], list[set[Id]]]:
        """The k best of every query over all documents by the finest store, as (segment, row) pairs and as ids.

        As in every search, only the best candidates are scored by their words.
        """
        snapshot = self._state.snapshot
        depth = 0 if self._state.model.refine is None else snapshot.n_alive
        effort = replace(effort, depth=depth)
        segments = every_document(snapshot).native(only=True)
        pairs: list[set[tuple[int, int]]] = []
        ids: list[set[Id]] = []
        with self._bars.phase("brute force", len(self._queries)) as advance:
            for begin in range(0, len(self._queries), 32):
                block = self._queries.take(np.arange(begin, min(begin + 32, len(self._queries))))
                positions, rows, _, counts, *_ = execute_native(self._state, block, effort, self._threads, segments)
                for own, own_rows, count in zip(positions, rows, counts.tolist(), strict=True):
                    pairs.append(set(zip(own[:count].tolist(), own_rows[:count].tolist(), strict=True)))
                    ids.append(set(row_ids(snapshot, own[:count], own_rows[:count])))
                advance(len(block))
        return pairs, ids

    def _labelled(self, grades: Sequence[Grades]) -> tuple[list[set[tuple[int, int]]], list[Grades]]:
        """The relevant documents that the index has, as (segment, row) pairs and with their grades."""
        snapshot = self._state.snapshot
        pairs: list[set[tuple[int, int]]] = []
        wanted: list[Grades] = []
        for own in grades:
            places = {
                id: place
                for id, place in zip(own, snapshot.find_checked(list(own), name="relevant"), strict=True)
                if place is not None
            }
            pairs.append({(p.segment, snapshot.segments[p.segment].segment.row_of(p.doc)) for p in places.values()})
            wanted.append({id: own[id] for id in places})
        if sum(map(bool, wanted)) < MIN_QUERIES:
            must = f"ids of documents in the index for at least {MIN_QUERIES} queries"
            raise invalid("relevant", must, f"{sum(map(bool, wanted))}")
        return pairs, wanted

    def _collect_examples(self, best: list[set[tuple[int, int]]]) -> list[Examples]:
        queries = self._queries
        bounds = zip(queries.offsets[:-1].tolist(), queries.offsets[1:].tolist(), strict=True)
        terms = [queries.terms[begin:end] for begin, end in bounds]
        with self._bars.phase("weigh candidates", len(queries)) as advance:
            return collect_examples(self._state.model, self._state.snapshot, queries.vectors, terms, best, advance)

    def front(self, *, fastest: bool) -> list[Tried]:
        """Return the settings that no cheaper (or faster) one equals, cheapest first."""

        def cost(own: Tried) -> float:
            return own.microseconds if fastest else own.cost

        with_terms = len(self._queries.terms) > 0
        settings = settings_to_try(self._state.model, with_terms=with_terms, lexical=self._weight)
        self._benefit = fit_benefit(self.examples)
        benefits = [
            fit_benefit([own for i, own in enumerate(self.examples) if i % N_FOLDS != fold]) for fold in range(N_FOLDS)
        ]
        n = len(self._queries)
        if n > N_FIRST_QUERIES:  # most settings are not worth trying on all queries
            settings = promising(self._try_all(settings, N_FIRST_QUERIES, benefits), cost)
        best, front = -1.0, []
        for own in sorted(self._try_all(settings, n, benefits), key=lambda own: (cost(own), -own.recall)):
            if own.recall > best:
                front.append(own)
                best = own.recall
        return front

    def _try_all(self, settings: list[dict[str, Any]], n: int, benefits: list[Benefit]) -> list[Tried]:
        """Try settings on the first n queries, each query with the weights that were learned from other folds."""
        folds = [list(range(fold, n, N_FOLDS)) for fold in range(N_FOLDS)]
        samples = [self._sample.take(rows) for rows in folds]
        known = np.array([bool(wanted) for wanted in self._sample.wanted[:n]])
        tried = []
        with self._bars.phase(f"try settings on {n} queries", len(settings)) as advance:
            for arguments in settings:
                outcomes = [
                    try_searcher(Configured(self._state, arguments, benefit), sample, self._k)
                    for sample, benefit in zip(samples, benefits, strict=True)
                ]
                tried.append(self._summary(arguments, join_outcomes(outcomes, folds), known))
                advance(1)
        return tried

    def _summary(self, arguments: dict[str, Any], outcome: Outcome, known: Array) -> Tried:
        effort = resolve_effort(self._state.model, k=self._k, **arguments)
        rescored = effort.words_depth if effort.lexical else effort.depth
        return summarise(arguments, outcome, known, rescored=rescored, whole=self._whole)

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
