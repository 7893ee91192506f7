"""How dense may the lists become? A trained selector favours terms that many documents share; this holds it back.

Scores of a term are divided by a power of how many documents have it. Which power (and, of gains, how much of them) is
chosen on dev queries: the one that finds most at the documents that BM25's lists would have scored. Where none finds
more than BM25, its lists stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hi2.progress import Progress
from hi2.selectors.clusters import ClusterSelector
from hi2.selectors.terms import TermSelector
from hi2.text.bags import Bags
from hi2.training.examples import Queries
from hi2.types import I64, Array, Floats

PER_DOC = (0, 3, 5, 7, 10, 15)
POWERS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75)
STRENGTHS = (1.0, 0.5)
#: Clusters that are opened beside the terms while powers are compared (of few clusters fewer), and dev queries at most.
PROBES, CLUSTERS_A_PROBE, LOOKED_AT = 4, 16, 400
#: Costs that are compared at, the highest at least so many documents above clusters alone.
LOOKS, FEWEST = 8, 100
#: The rank of a document that no list holds; ranks beyond ``PER_DOC`` are all alike.
FAR = 255


@dataclass(frozen=True)
class Reach:
    """What lists of the best terms find of what is wanted, and how many documents they hold, by ``PER_DOC``.

    The first, without terms, is what clusters alone find: the same for every selector.
    """

    scored: Floats
    found: Floats

    def at(self, scored: Array) -> Array:
        """Return what is found at some numbers of documents."""
        return np.interp(np.log1p(scored), np.log1p(self.scored), self.found)

    def gain_over(self, other: Reach) -> float:
        """Return how much more is found, on average, at costs up to the other's highest (and at least a hundred)."""
        low, high = float(other.scored[0]), max(float(other.scored[-1]), float(other.scored[0]) + FEWEST)
        costs = np.expm1(np.linspace(np.log1p(low), np.log1p(high), LOOKS + 1)[1:])
        return float(np.mean(self.at(costs) - other.at(costs)))


def reach(
    selector: TermSelector, bags: Bags, queries: Queries, wanted: Sequence[I64], by_clusters: Sequence[Array]
) -> Reach:
    """Measure a selector's lists, with the documents of clusters beside them."""
    selection = selector.select(bags)
    counts = np.diff(selection.offsets).astype(np.int64)
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    ranks = np.arange(len(rows)) - np.repeat(selection.offsets[:-1].astype(np.int64), counts)
    order = np.argsort(selection.terms, kind="stable")
    rows, ranks = rows[order], ranks[order]
    starts = np.append(0, np.cumsum(np.bincount(selection.terms, minlength=selector.n_terms)))
    scored, found = np.zeros((len(wanted), len(PER_DOC))), np.zeros((len(wanted), len(PER_DOC)))
    best = np.full(len(bags), FAR, np.uint8)
    for i, targets in enumerate(wanted):
        spans = [slice(int(starts[term]), int(starts[term + 1])) for term in queries.own_terms(i)]
        own = np.concatenate([rows[span] for span in spans]) if spans else rows[:0]
        own_ranks = np.concatenate([ranks[span] for span in spans]) if spans else ranks[:0]
        # What clusters alone hold stands at 0, the best term of a document at 1.
        np.minimum.at(best, own, np.minimum(own_ranks + 1, FAR - 1).astype(np.uint8))
        best[by_clusters[i]] = 0
        touched = np.unique(np.concatenate([own, by_clusters[i]]))
        reached = np.sort(best[touched])
        for j, per_doc in enumerate(PER_DOC):
            scored[i, j] = np.searchsorted(reached, per_doc, side="right")
            found[i, j] = np.mean(best[targets] <= per_doc)
        best[touched] = FAR
    return Reach(scored.mean(0), found.mean(0))


def held_back(
    trained: TermSelector,
    reference: TermSelector,
    bags: Bags,
    reference_bags: Bags,
    queries: Queries,
    wanted: Sequence[I64],
    clusters: ClusterSelector | None,
    labels: Array | None,
    bars: Progress,
) -> tuple[TermSelector, list[dict[str, float]]]:
    """Return the selector with the strength and power that find most at BM25's cost, or BM25's; and what each found."""
    wanted = wanted[:LOOKED_AT]
    by_clusters = _by_clusters(queries, len(wanted), clusters, labels)
    base = reach(reference, reference_bags, queries, wanted, by_clusters)
    learned = np.ones(trained.n_terms, np.float32) if trained.gains is None else trained.gains
    strengths = (1.0,) if trained.gains is None else STRENGTHS
    df = np.maximum(np.bincount(bags.terms, minlength=trained.n_terms), 1).astype(np.float64)
    tried: list[tuple[float, Floats]] = []
    table = []
    with bars.phase("hold back dense lists", len(strengths) * len(POWERS)) as advance:
        for strength in strengths:
            for power in POWERS:
                gains = (learned.astype(np.float64) ** strength * df**-power).astype(np.float32)
                gain = reach(replace(trained, gains=gains), bags, queries, wanted, by_clusters).gain_over(base)
                tried.append((gain, gains))
                table.append({"strength": strength, "power": power, "found_more": gain})
                advance(1)
    best = max(tried, key=lambda one: one[0])
    return (replace(trained, gains=best[1]) if best[0] > 0 else reference), table


def _by_clusters(queries: Queries, n: int, clusters: ClusterSelector | None, labels: Array | None) -> list[Array]:
    n_probes = 0 if clusters is None else min(PROBES, clusters.n_clusters // CLUSTERS_A_PROBE)
    if clusters is None or labels is None or n_probes == 0:
        return [np.zeros(0, np.int64)] * n
    order = np.argsort(labels, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(labels, minlength=clusters.n_clusters)))
    probes = np.argsort(-(queries.vectors[:n] @ clusters.centroids.T), axis=1)[:, :n_probes]
    return [np.concatenate([order[starts[c] : starts[c + 1]] for c in own]) for own in probes]
