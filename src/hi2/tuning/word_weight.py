"""How much should words count? The weight with the best nDCG@10 on judged queries, chosen with caution.

A few dozen queries say little about weights that are almost equally good. So the weight stays as near to the default
as the queries allow: among the weights that are within one standard error of the best, the nearest to the default is
chosen (the rule of Breiman et al., 1984). More than 50 queries need less caution: with 200 it is half a standard error.
What the weight gains is measured by cross-validation, each query with a weight that was chosen on others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hi2.progress import Phase
from hi2.search.effort import DEFAULT_LEXICAL, resolve_effort
from hi2.search.execute import execute
from hi2.state.index_state import State
from hi2.tuning.judged import Grades
from hi2.types import Array, Floats, Hits

#: The weights that are tried.
WEIGHTS = tuple(sorted({0.0, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, DEFAULT_LEXICAL}))
#: Cross-validation folds.
_N_FOLDS = 10
_DEPTH = 10
#: A weight is almost the best if it is at most one standard error worse for so many queries, and less for more.
_FEW = 50
_LEAST_CAUTION = 0.5
#: A difference of this many standard errors is more than chance.
_CLEARLY = 2
_DEFAULT = WEIGHTS.index(DEFAULT_LEXICAL)


@dataclass(frozen=True)
class WordWeight:
    """The weight of words that judged queries teach, and what it gains in nDCG@10.

    ``ndcg`` and the gains are means over the queries; each gain has its standard error. ``gain`` is over ranking by
    vectors alone (``lexical=0``). ``tried`` has the nDCG@10 of every weight.
    """

    weight: float
    ndcg: float
    gain: float
    standard_error: float
    gain_over_default: float
    standard_error_over_default: float
    n_queries: int
    tried: dict[float, float]

    def __str__(self) -> str:
        if self.weight == 0:
            return (
                "words hurt here: lexical=0 is best, and the default "
                f"{DEFAULT_LEXICAL:g} costs {_points(self.gain_over_default, self.standard_error_over_default)}"
            )
        adds = f"words {'add' if self.gain >= 0 else 'cost'} {_points(abs(self.gain), self.standard_error)}"
        if self.weight == DEFAULT_LEXICAL:
            return f"{adds} with lexical={self.weight:g}, the default"
        more = 100 * abs(self.gain_over_default), 100 * self.standard_error_over_default
        than = f"{more[0]:.1f} ± {more[1]:.1f} {'more' if self.gain_over_default >= 0 else 'less'} than the default"
        return f"{adds} with lexical={self.weight:g}, {than} {DEFAULT_LEXICAL:g}"


def _points(gain: float, error: float) -> str:
    return f"{100 * gain:.1f} ± {100 * error:.1f} points of nDCG@10"


def learn_weight(
    state: State,
    vectors: Floats,
    texts: Sequence[str | None],
    grades: Sequence[Grades],
    *,
    threads: int | None = None,
    report: Phase = lambda steps: None,
) -> WordWeight:
    """Return the weight that queries teach, searched for with the default effort."""
    return weigh(measure_weights(state, vectors, texts, grades, threads=threads, report=report))


def measure_weights(
    state: State,
    vectors: Floats,
    texts: Sequence[str | None],
    grades: Sequence[Grades],
    *,
    threads: int | None = None,
    report: Phase = lambda steps: None,
) -> Array:
    """Return the nDCG@10 of every query with the default effort, one column for each of ``WEIGHTS``."""
    columns = []
    for weight in WEIGHTS:
        effort = resolve_effort(state.model, k=_DEPTH, lexical=weight)
        columns.append(ndcg(execute(state, vectors, texts, effort, threads=threads), grades))
        report(1)
    return np.stack(columns, axis=1)


def weigh(values: Array) -> WordWeight:
    """Return the weight that the values of ``measure_weights`` teach, and what it gains."""
    chosen = choose(values)
    # The default was not chosen on these queries, so it is measured on all of them as it is.
    own = values[:, chosen] if chosen == _DEFAULT else _held_out(values)
    over_zero, over_default = (own - values[:, other] if chosen != other else 0 * own for other in (0, _DEFAULT))
    return WordWeight(
        weight=WEIGHTS[chosen],
        ndcg=float(own.mean()),
        gain=float(over_zero.mean()),
        standard_error=float(_standard_error(over_zero)),
        gain_over_default=float(over_default.mean()),
        standard_error_over_default=float(_standard_error(over_default)),
        n_queries=len(values),
        tried=dict(zip(WEIGHTS, values.mean(axis=0).tolist(), strict=True)),
    )


def choose(values: Array) -> int:
    """Return the column of the weight to choose.

    Values are averaged over neighbouring weights first. Where the default is clearly worse than 0, a weight that gains
    nothing becomes 0.
    """
    padded = np.pad(values, ((0, 0), (1, 1)), mode="edge")
    smooth = (padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]) / 4
    worse = smooth[:, [smooth.mean(axis=0).argmax()]] - smooth
    good = np.flatnonzero(worse.mean(axis=0) <= _caution(len(values)) * _standard_error(worse) + 1e-12)
    chosen = int(good[np.abs(good - _DEFAULT).argmin()])
    hurt = values[:, 0] - values[:, _DEFAULT]
    if hurt.mean() > _CLEARLY * _standard_error(hurt) and values[:, chosen].mean() <= values[:, 0].mean():
        return 0
    return chosen


def _caution(n_queries: int) -> float:
    """How many standard errors a weight may be worse than the best."""
    return min(1.0, max(_LEAST_CAUTION, math.sqrt(_FEW / n_queries)))


def _held_out(values: Array) -> Array:
    """The value of each query with the weight that is chosen on the queries of other folds."""
    own = np.empty(len(values))
    for fold in range(_N_FOLDS):
        held = np.arange(len(values)) % _N_FOLDS == fold
        own[held] = values[held, choose(values[~held])]
    return own


def _standard_error(values: Array) -> Array:
    return np.asarray(np.std(values, axis=0, ddof=1) / math.sqrt(len(values)))


def ndcg(hits: Hits, grades: Sequence[Grades]) -> Array:
    """Return the nDCG@10 of every query of a batch, with gains that are the grades."""
    discounts = 1 / np.log2(np.arange(2, _DEPTH + 2))
    found = np.zeros((len(grades), _DEPTH))
    best = np.zeros((len(grades), _DEPTH))
    for row, (ids, count, own) in enumerate(zip(hits.ids.tolist(), hits.counts, grades, strict=True)):
        gains = [own.get(id, 0.0) for id in ids[: min(int(count), _DEPTH)]]
        ideal = sorted(own.values(), reverse=True)[:_DEPTH]
        found[row, : len(gains)], best[row, : len(ideal)] = gains, ideal
    return (found @ discounts) / np.maximum(best @ discounts, 1e-30)
