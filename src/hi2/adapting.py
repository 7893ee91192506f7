"""How much of each list is a query worth? What is expected of a document before it is scored.

The log-odds that a document is among the best, from what is known for free: how many clusters are nearer than its own,
how far its cluster's score lies below the best, and how rare the query's term is that it is filed under. ``benefit.h``
has the formula. The numbers here suit an index nobody tuned; ``tune`` learns them from queries, without labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hi2.model import Model
from hi2.progress import Phase
from hi2.snapshot import Snapshot
from hi2.types import Array, Floats

#: Of a query's candidates that are not among the best so many of a segment are learned from.
_DRAWN = 1500
#: Candidates from clusters farther than this are not learned from, unless a term is shared.
_NEAREST = 1000
#: The first column of features that speaks of a term's rarity.
_RARITY = 5
#: Newton's steps, and how strongly weights are held near 0.
_STEPS, _RIDGE = 40, 1e-2


@dataclass(frozen=True)
class Benefit:
    """Seven numbers: log-odds of a candidate by the rank and the gap of its cluster and the rarity of its term."""

    base: float = -1.9
    rank: float = -1.0
    rank2: float = -0.08
    gap: float = -0.2
    term: float = 0.3
    idf: float = 0.2
    idf_rank: float = 0.05

    @classmethod
    def fit(cls, learned: Sequence[Learned]) -> Benefit:
        """Return the numbers under which what is among the best is most likely to be.

        A rarer term never promises less: a document under several is then weighed by the rarest.
        """
        features, hits, weights = (
            np.concatenate([getattr(own, name) for own in learned]) for name in ("features", "hits", "weights")
        )
        solved = _logistic(features, hits, weights)
        while (solved[_RARITY:] < 0).any():
            features[:, _RARITY + int(np.argmin(solved[_RARITY:]))] = 0
            solved = _logistic(features, hits, weights)
        return cls(*map(float, solved))

    @cached_property
    def array(self) -> Floats:
        """The numbers as the search reads them."""
        return np.array(astuple(self), np.float32)


#: For an index that was not tuned.
DEFAULT_BENEFIT = Benefit()


def log_odds(share: float) -> float:
    """Return log(p / (1 − p))."""
    return -math.inf if share <= 0 else math.inf if share >= 1 else math.log(share / (1 - share))


@dataclass(frozen=True)
class Learned:
    """Candidates of one query: features (n, 7), which are among the best, and how many each stands for."""

    features: Array
    hits: Array
    weights: Array


def learn(
    model: Model,
    snapshot: Snapshot,
    queries: Floats,
    terms: Sequence[Array],
    best: Sequence[Set[tuple[int, int]]],
    report: Phase = lambda steps: None,
) -> list[Learned]:
    """Return candidates of some queries with whether they are among the ``best``, (segment, row) pairs."""
    random = np.random.default_rng(0)
    segments = [live.segment for live in snapshot.lives]
    labels = [segment.labels().astype(np.int64) for segment in segments]
    alive = [live.flags() for live in snapshot.lives]
    n_docs = sum(segment.n_docs for segment in segments)
    learned = []
    for query, own, wanted in zip(queries, terms, best, strict=True):
        rank, gap = _clusters(model, query)
        lists = [[segment.native.term_list(int(term))[0] for segment in segments] for term in own]
        parts = []
        for number, segment in enumerate(segments):
            rarity = np.zeros(segment.n_docs)
            for found in lists:
                length = sum(len(docs) for docs in found)
                if length:
                    docs = found[number]
                    rarity[docs] = np.maximum(rarity[docs], math.log1p(n_docs / length))
            hit = np.isin(segment.rows, [row for at, row in wanted if at == number])
            r = rank[labels[number]] if model.n_clusters else np.zeros(segment.n_docs)
            others = np.flatnonzero(alive[number] & ~hit & ((rarity > 0) | (r < math.log1p(_NEAREST))))
            drawn = random.choice(others, min(_DRAWN, len(others)), replace=False)
            docs = np.concatenate([np.flatnonzero(hit & alive[number]), drawn])
            g = gap[labels[number][docs]] if model.n_clusters else np.zeros(len(docs))
            r, w = r[docs], rarity[docs]
            stands_for = np.where(hit[docs], 1.0, len(others) / max(len(drawn), 1))
            parts.append(
                Learned(np.stack([np.ones(len(docs)), r, r * r, g, w > 0, w, w * r], axis=1), hit[docs], stands_for)
            )
        learned.append(
            Learned(
                np.concatenate([part.features for part in parts]),
                np.concatenate([part.hits for part in parts]),
                np.concatenate([part.weights for part in parts]),
            )
        )
        report(1)
    return learned


def _clusters(model: Model, query: Floats) -> tuple[Array, Array]:
    """Every cluster's log rank, and its gap to the best in standard deviations."""
    if model.clusters is None:
        return np.zeros(0), np.zeros(0)
    scores = model.clusters.centroids @ query
    rank = np.empty(len(scores))
    rank[np.argsort(-scores, kind="stable")] = np.log1p(np.arange(len(scores)))
    return rank, (scores.max() - scores) / max(float(scores.std()), 1e-30)


def _logistic(features: Array, hits: Array, weights: Array) -> Array:
    """Logistic regression by Newton's method on standardised features; columns that never vary get 0."""
    means, scales = features.mean(0), features.std(0)
    varies = scales > 1e-12
    varies[0] = True
    means[0], scales[0] = 0.0, 1.0
    x = (features[:, varies] - means[varies]) / scales[varies]
    solved = np.zeros(x.shape[1])
    share = float(weights[hits].sum() / weights.sum())
    solved[0] = log_odds(min(max(share, 1e-6), 1 - 1e-6))

    def loss(w: Any) -> float:
        u = x @ w
        return float((weights * (np.logaddexp(0, u) - hits * u)).sum() + _RIDGE * (w[1:] ** 2).sum() / 2)

    now = loss(solved)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ solved, -50, 50)))
        ridge = np.full(len(solved), _RIDGE)
        ridge[0] = 1e-9
        gradient = x.T @ (weights * (p - hits)) + ridge * solved
        curvature = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-4 and loss(solved - size * step) > now:
            size /= 2
        solved = solved - size * step
        before, now = now, loss(solved)
        if before - now < 1e-7 * abs(before):
            break
    full = np.zeros(features.shape[1])
    full[varies] = solved / scales[varies]
    full[0] = solved[0] - float((full[1:] * means[1:]).sum())
    return full
