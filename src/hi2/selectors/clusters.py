"""Which cluster does a document belong to, and which does a query open? (§4.1 of the paper)

A cluster has an anchor and a centroid. Documents are assigned by ``anchors``, and residual codes are relative to them.
Queries choose clusters by ``centroids``. After k-means the two are identical. Training may move the centroids; the
anchors never change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from hi2 import _native
from hi2.arguments import boolean, normalise_integers, real
from hi2.errors import InvalidParameter, invalid
from hi2.faiss_fitting import pinned_faiss
from hi2.types import U32, Array, Floats


@dataclass(frozen=True)
class KMeans:
    """Cluster the documents' vectors by k-means over a sample.

    ``n_clusters=None`` means 2·√N clusters for N documents; there are never more than N. ``spherical`` keeps centroids
    at unit length, which inner product needs: a long centroid would attract every document. ``points_per_cluster``
    limits the size of the sample.

    ``copies`` files a document near a boundary under up to that many further clusters (SPANN, NeurIPS 2021). A cluster
    qualifies if its distance is at most ``1 + copy_margin`` times that of the nearest, and if it is nearer to the
    document than to every cluster chosen before.

    >>> KMeans(10_000).n_clusters
    10000
    """

    n_clusters: int | None = None
    spherical: bool = True
    iterations: int = 10
    points_per_cluster: int = 256
    copies: int = 0
    copy_margin: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        normalise_integers(
            self,
            n_clusters=(1, (1 << 24) - 1),
            iterations=(1, 2**31 - 1),
            points_per_cluster=(1, 2**31 - 1),
            copies=(0, 32),
            seed=(0, 2**31 - 1),
        )
        object.__setattr__(self, "spherical", boolean("spherical", self.spherical))
        object.__setattr__(self, "copy_margin", real("copy_margin", self.copy_margin, low=0.0, high=10.0))

    def resolved(self, n_docs: int) -> KMeans:
        """Return the spec with ``n_clusters`` filled in for a collection of ``n_docs``."""
        wanted = max(1, round(2 * sqrt(n_docs))) if self.n_clusters is None else self.n_clusters
        return replace(self, n_clusters=min(wanted, n_docs))

    def sample_size(self, n_docs: int) -> int:
        """Return how many vectors ``fit`` uses."""
        return min(n_docs, (self.resolved(n_docs).n_clusters or 1) * self.points_per_cluster)

    def fit(self, sample: Floats, *, n_docs: int, threads: int) -> ClusterSelector:
        """Return the clusters of ``sample`` (n, dim), drawn from ``n_docs`` documents."""
        n_clusters = min(self.resolved(n_docs).n_clusters or 1, len(sample))
        with pinned_faiss(threads) as faiss:
            kmeans = faiss.Kmeans(
                sample.shape[1],
                n_clusters,
                niter=self.iterations,
                seed=self.seed,
                spherical=self.spherical,
                min_points_per_centroid=1,
                max_points_per_centroid=self.points_per_cluster,
            )
            kmeans.train(sample)
        centroids: Floats = np.ascontiguousarray(kmeans.centroids, np.float32)
        return ClusterSelector(replace(self, n_clusters=n_clusters), centroids, centroids)


@dataclass(frozen=True)
class ClusterSelector:
    """Fitted clusters: ``anchors`` and ``centroids`` are (n_clusters, dim)."""

    spec: KMeans
    anchors: Floats
    centroids: Floats

    def __post_init__(self) -> None:
        if self.anchors.ndim != 2 or self.anchors.shape != self.centroids.shape:
            raise InvalidParameter(
                f"The 'anchors' and 'centroids' parameters must both be (n_clusters, dim). "
                f"Got {self.anchors.shape} and {self.centroids.shape}."
            )
        if self.spec.n_clusters not in (None, len(self.anchors)):
            raise invalid("anchors", f"the {self.spec.n_clusters} that the spec says", f"{len(self.anchors)} of them")
        for name, array in (("anchors", self.anchors), ("centroids", self.centroids)):
            if array.dtype != np.float32 or not array.flags.c_contiguous or not np.isfinite(array).all():
                raise invalid(name, "a C-contiguous array of finite float32", f"{array.dtype} with other values")

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.anchors)

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self.anchors.shape[1])

    @property
    def default_probes(self) -> int:
        """How many clusters a query opens by default.

        The number is constant. With 2·√N clusters, the documents scored then grow as √N.
        """
        return min(self.n_clusters, 16)

    def assign(self, vectors: Floats, *, threads: int = 1) -> tuple[U32, Array]:
        """Return the cluster of every vector (φ), and the (row, cluster) pairs of boundary copies, ordered by row."""
        n_best = min(self.n_clusters, 1 if self.spec.copies == 0 else 2 * self.spec.copies + 2)
        labels, scores = _native.nearest(vectors, self.anchors, n_best, threads)
        if self.spec.copies == 0:
            return labels[:, 0].copy(), np.zeros((0, 2), np.uint32)
        return labels[:, 0].copy(), self._copies(vectors, labels, scores)

    def residuals(self, vectors: Floats, labels: U32) -> Floats:
        """Return the vectors minus the anchors of their clusters."""
        return vectors - self.anchors[labels]

    def _copies(self, vectors: Floats, labels: U32, scores: Floats) -> Array:
        """Return the pairs of boundary copies: near enough, and not nearer to a chosen cluster than to the document."""
        norms = np.einsum("ij,ij->i", self.anchors, self.anchors)
        squared = np.maximum(np.einsum("ij,ij->i", vectors, vectors)[:, None] - 2 * scores + norms[labels], 0)
        distances = np.sqrt(squared)
        close = distances <= (1 + self.spec.copy_margin) * distances[:, :1]
        pairs = []
        for row in np.flatnonzero(close[:, 1:].any(axis=1)):
            chosen = [int(labels[row, 0])]
            for position in np.flatnonzero(close[row, 1:]) + 1:
                cluster = int(labels[row, position])
                gaps = np.linalg.norm(self.anchors[chosen] - self.anchors[cluster], axis=1)
                if (gaps > distances[row, position]).all():
                    chosen.append(cluster)
                    pairs.append((row, cluster))
                if len(chosen) > self.spec.copies:
                    break
        return np.array(pairs, np.uint32).reshape(-1, 2)
