"""What does a setting find, and what does it cost? Tried on sample queries through anything that can be searched."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.search.effort import resolve_effort
from hi2.search.execute import execute
from hi2.state.benefit import Benefit
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.types import Array, Floats, Hits, Id, Searcher

#: A target must be reached by the mean minus this many standard errors; it then holds for four of five samples.
STANDARD_ERRORS = 0.84
#: The values of ``adaptive`` to try.
_CHANCES = tuple(float(f"{0.3 * 0.8**i:.3g}") for i in range(36))


@dataclass(frozen=True)
class Tried:
    """A setting, what it found and what it cost: means over the queries, and the standard error of the recall."""

    arguments: dict[str, Any]
    recall: float
    error: float
    documents: float
    cost: float
    microseconds: float

    @property
    def assured(self) -> float:
        """The recall that can be promised for other queries."""
        return self.recall - STANDARD_ERRORS * self.error


@dataclass(frozen=True)
class Sample:
    """Queries to try settings on, and the ids that each of them should find."""

    vectors: Floats
    texts: Sequence[str | None] | None
    wanted: Sequence[set[Id]]

    def take(self, rows: Iterable[int]) -> Sample:
        """Return some of the queries."""
        rows = list(rows)
        texts = None if self.texts is None else [self.texts[row] for row in rows]
        return Sample(np.ascontiguousarray(self.vectors[rows]), texts, [self.wanted[row] for row in rows])


@dataclass(frozen=True)
class Configured:
    """An index with one setting of its search, as a ``Searcher``."""

    state: State
    arguments: dict[str, Any]
    benefit: Benefit

    def search(self, vectors: Any, texts: str | Sequence[str | None] | None = None, *, k: int = 10) -> Hits:
        """Return the ``k`` best hits of every query, on one thread."""
        effort = resolve_effort(self.state.model, k=k, **self.arguments, benefit=self.benefit)
        return execute(self.state, vectors, texts, effort, threads=1)


@dataclass(frozen=True)
class Outcome:
    """What a searcher found of each query's wanted ids (a share), the documents it scored, and the time in all."""

    found: Array
    scored: Array
    seconds: float


def try_searcher(searcher: Searcher, sample: Sample, k: int) -> Outcome:
    """Search for every query of a sample at once."""
    begin = time.perf_counter()
    hits = searcher.search(sample.vectors, sample.texts, k=k)
    seconds = time.perf_counter() - begin
    found = np.zeros(len(sample.vectors))
    for row, (ids, count) in enumerate(zip(hits.ids.tolist(), hits.counts, strict=True)):
        found[row] = len(sample.wanted[row].intersection(ids[: int(count)])) / max(len(sample.wanted[row]), 1)
    return Outcome(found, np.asarray(hits.n_scored, float), seconds)


def join_outcomes(outcomes: Sequence[Outcome], rows: Sequence[Sequence[int]]) -> Outcome:
    """Return the outcomes of several samples as one; ``rows`` are the places of each sample's queries."""
    order = np.argsort(np.concatenate(rows))
    found, scored = (np.concatenate([getattr(own, name) for own in outcomes])[order] for name in ("found", "scored"))
    return Outcome(found, scored, sum(own.seconds for own in outcomes))


def summarise(arguments: dict[str, Any], outcome: Outcome, known: Array, *, rescored: int, whole: float) -> Tried:
    """Return the means of an outcome over the queries that are ``known`` to want something.

    ``whole`` is the share that counts as 1. Rescored documents are part of the cost.
    """
    shares = outcome.found[known] / whole
    documents = float(outcome.scored.mean())
    return Tried(
        arguments,
        recall=float(shares.mean()),
        error=float(shares.std(ddof=1) / math.sqrt(len(shares))) if len(shares) > 1 else 1.0,
        documents=documents,
        cost=documents + min(rescored, documents),
        microseconds=1e6 * outcome.seconds / len(outcome.scored),
    )


def promising(tried: Sequence[Tried], cost: Callable[[Tried], float]) -> list[dict[str, Any]]:
    """Return the settings that may be on the front: no cheaper one finds more by a standard error."""
    kept, best = [], -1.0
    for own in sorted(tried, key=cost):
        if own.recall + own.error >= best:
            kept.append(own.arguments)
        best = max(best, own.recall)
    return kept


def settings_to_try(model: Model, *, with_terms: bool, lexical: float) -> list[dict[str, Any]]:
    """Return the settings worth trying with a weight of words: fixed and adaptive ones.

    Refinement is of several depths. With words it is as deep as they are, so there is nothing to try.
    """
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
    adaptive: list[dict[str, Any]] = [{"adaptive": chance} for chance in _CHANCES]
    if with_terms and n:
        adaptive += [{"adaptive": chance, "clusters": 0} for chance in _CHANCES[::2]]
    settings = [{**own, "lexical": lexical} for own in fixed + adaptive]
    if model.refine is None or lexical:
        return settings
    return [{**own, "refine": rounds} for own in settings for rounds in (1, 4, 16, 64)]
