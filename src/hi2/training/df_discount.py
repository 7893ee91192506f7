"""How are long term lists avoided? Trained scores of a term are divided by a power of its document frequency.

Training favours terms that many documents share, and their lists are long. The power is chosen on dev queries, and for
gains also how much of them is used: the choice that finds most while scoring as many documents as BM25's lists would.
If no choice finds more than BM25, its lists are kept.
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
#: While powers are compared, a query also opens 4 clusters, or one per 16 clusters if that is fewer.
PROBES, CLUSTERS_PER_PROBE = 4, 16
MAX_DEV_QUERIES = 400
#: Selectors are compared at 8 costs. The highest is at least 100 documents above what the clusters alone score.
N_COSTS, MIN_EXTRA_DOCS = 8, 100
#: The rank of a document in none of the opened lists. Ranks beyond the largest of ``PER_DOC`` need not be exact.
UNREACHED_RANK = 255


@dataclass(frozen=True)
class Reach:
    """What a selector's lists find and cost, with one entry for each value of ``PER_DOC``.

    ``found`` is the mean share of the targets in the opened lists, ``scored`` the mean number of documents in them. The
    first entry opens no terms, only clusters, and is the same for every selector.
    """

    scored: Floats
    found: Floats

    def at(self, scored: Array) -> Array:
        """Return the share found when that many documents are scored, interpolated."""
        return np.interp(np.log1p(scored), np.log1p(self.scored), self.found)

    def gain_over(self, other: Reach) -> float:
        """Return how much more is found than by ``other``, averaged over costs up to its highest."""
        low, high = float(other.scored[0]), max(float(other.scored[-1]), float(other.scored[0]) + MIN_EXTRA_DOCS)
        costs = np.expm1(np.linspace(np.log1p(low), np.log1p(high), N_COSTS + 1)[1:])
        return float(np.mean(self.at(costs) - other.at(costs)))


def measure_reach(
    selector: TermSelector, bags: Bags, queries: Queries, targets: Sequence[I64], by_clusters: Sequence[Array]
) -> Reach:
    """Measure a selector's lists together with the documents of the opened clusters."""
    selection = selector.select(bags)
    counts = np.diff(selection.offsets).astype(np.int64)
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    ranks = np.arange(len(rows)) - np.repeat(selection.offsets[:-1].astype(np.int64), counts)
    order = np.argsort(selection.terms, kind="stable")
    rows, ranks = rows[order], ranks[order]
    starts = np.append(0, np.cumsum(np.bincount(selection.terms, minlength=selector.n_terms)))
    scored, found = np.zeros((len(targets), len(PER_DOC))), np.zeros((len(targets), len(PER_DOC)))
    best = np.full(len(bags), UNREACHED_RANK, np.uint8)
    for i, wanted in enumerate(targets):
        spans = [slice(int(starts[term]), int(starts[term + 1])) for term in queries.terms_of(i)]
        listed = np.concatenate([rows[span] for span in spans]) if spans else rows[:0]
        listed_ranks = np.concatenate([ranks[span] for span in spans]) if spans else ranks[:0]
        # Rank 0 is a document of an opened cluster, rank 1 one found by its best term.
        np.minimum.at(best, listed, np.minimum(listed_ranks + 1, UNREACHED_RANK - 1).astype(np.uint8))
        best[by_clusters[i]] = 0
        touched = np.unique(np.concatenate([listed, by_clusters[i]]))
        reached = np.sort(best[touched])
        for j, per_doc in enumerate(PER_DOC):
            scored[i, j] = np.searchsorted(reached, per_doc, side="right")
            found[i, j] = np.mean(best[wanted] <= per_doc)
        best[touched] = UNREACHED_RANK
    return Reach(scored.mean(0), found.mean(0))


def discount_frequent_terms(
    trained: TermSelector,
    reference: TermSelector,
    bags: Bags,
    reference_bags: Bags,
    queries: Queries,
    targets: Sequence[I64],
    clusters: ClusterSelector | None,
    labels: Array | None,
    bars: Progress,
) -> tuple[TermSelector, list[dict[str, float]]]:
    """Return the selector that finds most at the cost of BM25's lists, or ``reference``; and every choice's gain."""
    targets = targets[:MAX_DEV_QUERIES]
    by_clusters = _documents_of_clusters(queries, len(targets), clusters, labels)
    base = measure_reach(reference, reference_bags, queries, targets, by_clusters)
    learned = np.ones(trained.n_terms, np.float32) if trained.gains is None else trained.gains
    strengths = (1.0,) if trained.gains is None else STRENGTHS
    df = np.maximum(np.bincount(bags.terms, minlength=trained.n_terms), 1).astype(np.float64)
    tried: list[tuple[float, Floats]] = []
    table = []
    with bars.phase("hold back dense lists", len(strengths) * len(POWERS)) as advance:
        for strength in strengths:
            for power in POWERS:
                gains = (learned.astype(np.float64) ** strength * df**-power).astype(np.float32)
                discounted = replace(trained, gains=gains)
                gain = measure_reach(discounted, bags, queries, targets, by_clusters).gain_over(base)
                tried.append((gain, gains))
                table.append({"strength": strength, "power": power, "found_more": gain})
                advance(1)
    gain, gains = max(tried, key=lambda one: one[0])
    return (replace(trained, gains=gains) if gain > 0 else reference), table


def _documents_of_clusters(
    queries: Queries, n: int, clusters: ClusterSelector | None, labels: Array | None
) -> list[Array]:
    """Return the documents of the clusters nearest to each of the first ``n`` queries."""
    n_probes = 0 if clusters is None else min(PROBES, clusters.n_clusters // CLUSTERS_PER_PROBE)
    if clusters is None or labels is None or n_probes == 0:
        return [np.zeros(0, np.int64)] * n
    order = np.argsort(labels, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(labels, minlength=clusters.n_clusters)))
    probes = np.argsort(-(queries.vectors[:n] @ clusters.centroids.T), axis=1)[:, :n_probes]
    return [np.concatenate([order[starts[c] : starts[c + 1]] for c in opened]) for opened in probes]
