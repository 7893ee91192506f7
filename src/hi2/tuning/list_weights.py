"""How much of each list is worth opening? The weights of ``state/benefit.py``, learned from queries without labels.

Every query gives examples: candidates with what is known of them before they are scored, and whether they turned out
to be among the best. Logistic regression fits the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.progress import Phase
from hi2.state.benefit import Benefit, log_odds
from hi2.state.model import Model
from hi2.state.segment import NO_CLUSTER
from hi2.state.snapshot import Snapshot
from hi2.types import Array, Floats

#: Candidates per query and segment that are drawn from those that are not among the best.
_N_NEGATIVES = 1500
#: Candidates of clusters beyond this rank are left out unless they share a term with the query.
_MAX_RANK = 1000
#: The first feature that describes a term's rarity.
_RARITY = 5
#: Newton steps, and the strength of the ridge penalty.
_MAX_STEPS, _RIDGE = 40, 1e-2


@dataclass(frozen=True)
class Examples:
    """Candidates of one query: features (n, 7), whether each is among the best, and its sample weight."""

    features: Array
    hits: Array
    weights: Array


def collect_examples(
    model: Model,
    snapshot: Snapshot,
    queries: Floats,
    terms: Sequence[Array],
    best: Sequence[Set[tuple[int, int]]],
    report: Phase = lambda steps: None,
) -> list[Examples]:
    """Return examples for every query; ``best`` holds its best documents as (segment, row) pairs."""
    random = np.random.default_rng(0)
    segments = [live.segment for live in snapshot.segments]
    labels = [segment.labels().astype(np.int64) for segment in segments]
    alive = [live.flags() for live in snapshot.segments]
    for own, flags in zip(labels, alive, strict=True):  # documents without a vector are no examples
        flags[own == NO_CLUSTER] = False
        own[own == NO_CLUSTER] = 0
    n_docs = sum(segment.n_docs for segment in segments)
    examples = []
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
            others = np.flatnonzero(alive[number] & ~hit & ((rarity > 0) | (r < math.log1p(_MAX_RANK))))
            drawn = random.choice(others, min(_N_NEGATIVES, len(others)), replace=False)
            docs = np.concatenate([np.flatnonzero(hit & alive[number]), drawn])
            g = gap[labels[number][docs]] if model.n_clusters else np.zeros(len(docs))
            r, w = r[docs], rarity[docs]
            stands_for = np.where(hit[docs], 1.0, len(others) / max(len(drawn), 1))
            parts.append(
                Examples(np.stack([np.ones(len(docs)), r, r * r, g, w > 0, w, w * r], axis=1), hit[docs], stands_for)
            )
        examples.append(
            Examples(
                np.concatenate([part.features for part in parts]),
                np.concatenate([part.hits for part in parts]),
                np.concatenate([part.weights for part in parts]),
            )
        )
        report(1)
    return examples


def fit_benefit(examples: Sequence[Examples]) -> Benefit:
    """Return the weights under which the documents among the best are most likely to be there.

    A rarer term never promises less, so a document under several terms is weighed by the rarest of them.
    """
    features, hits, weights = (
        np.concatenate([getattr(one, name) for one in examples]) for name in ("features", "hits", "weights")
    )
    solved = _logistic(features, hits, weights)
    while (solved[_RARITY:] < 0).any():
        features[:, _RARITY + int(np.argmin(solved[_RARITY:]))] = 0
        solved = _logistic(features, hits, weights)
    return Benefit(*map(float, solved))


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
    for _ in range(_MAX_STEPS):
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
