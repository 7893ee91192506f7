"""Documents are assigned by the highest inner product; the default number of clusters follows from N."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle
from hi2 import _native


@pytest.mark.parametrize(("n_docs", "expected"), [(1, 1), (2, 2), (3, 3), (100, 20), (66_581, 516), (10_000_000, 6325)])
def test_the_default_number_of_clusters_follows_from_n(n_docs, expected):
    assert hi2.KMeans().resolved(n_docs).n_clusters == expected


def test_assignment_is_the_argmax_of_the_inner_product(corpus):
    clusters = hi2.KMeans(23).fit(corpus.vectors, n_docs=len(corpus.vectors), threads=1)
    labels, copies = clusters.assign(corpus.vectors)
    scores = corpus.vectors.astype(np.float64) @ clusters.anchors.astype(np.float64).T
    best = oracle.assign(corpus.vectors, clusters.anchors)
    rows = np.arange(len(labels))
    np.testing.assert_allclose(scores[rows, labels], scores[rows, best], atol=1e-6)
    assert len(copies) == 0


def test_spherical_centroids_have_unit_length(corpus):
    for spherical in (True, False):
        clusters = hi2.KMeans(9, spherical=spherical).fit(corpus.vectors * 3, n_docs=500, threads=1)
        lengths = np.linalg.norm(clusters.anchors, axis=1)
        assert np.allclose(lengths, 1, atol=1e-4) == spherical


def test_ties_go_to_the_lower_cluster():
    anchors = np.tile(np.array([[1.0, 0.0]], np.float32), (5, 1))
    labels, scores = _native.nearest(np.array([[2.0, 1.0]], np.float32), anchors, 3, 1)
    assert labels.tolist() == [[0, 1, 2]]
    assert scores.tolist() == [[2.0, 2.0, 2.0]]


def test_the_nearest_anchors_are_exact_and_in_order(corpus):
    anchors = corpus.vectors[:301]
    labels, scores = _native.nearest(corpus.vectors[:150], anchors, 7, 2)
    exact = corpus.vectors[:150].astype(np.float64) @ anchors.astype(np.float64).T
    np.testing.assert_allclose(scores, -np.sort(-exact, axis=1)[:, :7], atol=1e-6)
    np.testing.assert_allclose(scores, np.take_along_axis(exact, labels.astype(np.int64), axis=1), atol=1e-6)


def test_copies_are_near_the_document_and_far_from_each_other(corpus):
    spec = hi2.KMeans(30, copies=2, copy_margin=0.2)
    clusters = spec.fit(corpus.vectors, n_docs=len(corpus.vectors), threads=1)
    labels, pairs = clusters.assign(corpus.vectors)
    assert len(pairs) > 0
    distances = np.linalg.norm(corpus.vectors[:, None] - clusters.anchors[None], axis=2)
    chosen = {row: [int(labels[row])] for row in range(len(labels))}
    for row, cluster in pairs.tolist():
        assert distances[row, cluster] <= 1.2 * distances[row, labels[row]] + 1e-4
        for other in chosen[row]:
            assert np.linalg.norm(clusters.anchors[other] - clusters.anchors[cluster]) > distances[row, cluster] - 1e-4
        chosen[row].append(cluster)
    assert max(len(clusters) for clusters in chosen.values()) <= 3


def test_moved_centroids_change_probes_but_not_assignments(corpus):
    """Queries use the centroids; documents and residual codes use the anchors."""
    fitted = hi2.KMeans(10).fit(corpus.vectors, n_docs=500, threads=1)
    moved = hi2.ClusterSelector(fitted.spec, fitted.anchors, np.ascontiguousarray(fitted.centroids[::-1]))
    for codec in (hi2.Flat(), hi2.PQ(5, residual=True)):
        plain, other = (
            hi2.HybridIndex.build(corpus.vectors, terms=None, clusters=c, codec=codec) for c in (fitted, moved)
        )
        everything = plain.search(corpus.query_vectors, k=9, clusters=10)
        assert (everything.scores == other.search(corpus.query_vectors, k=9, clusters=10).scores).all()
        assert (
            plain.model.native.probe(corpus.vectors[0], 3) == 9 - other.model.native.probe(corpus.vectors[0], 3)
        ).all()


def test_anchors_and_centroids_are_both_stored(corpus, tmp_path):
    fitted = hi2.KMeans(10).fit(corpus.vectors, n_docs=500, threads=1)
    moved = hi2.ClusterSelector(fitted.spec, fitted.anchors, np.ascontiguousarray(fitted.centroids[::-1]))
    index = hi2.HybridIndex.build(corpus.vectors, terms=None, clusters=moved)
    index.save(tmp_path / "a")
    opened = hi2.HybridIndex.open(tmp_path / "a").model.clusters
    np.testing.assert_array_equal(opened.anchors, moved.anchors)
    np.testing.assert_array_equal(opened.centroids, moved.centroids)


def test_residuals_are_relative_to_the_anchors_not_the_centroids(corpus):
    fitted = hi2.KMeans(5).fit(corpus.vectors[:100], n_docs=100, threads=1)
    moved = hi2.ClusterSelector(fitted.spec, fitted.anchors, fitted.centroids + 1)
    labels, _ = moved.assign(corpus.vectors[:9])
    expected = [vector - moved.anchors[label] for vector, label in zip(corpus.vectors[:9], labels, strict=True)]
    np.testing.assert_array_equal(moved.residuals(corpus.vectors[:9], labels), expected)


@pytest.mark.parametrize(
    ("match", "spec", "keywords"),
    [
        (r"'n_clusters'.*Got 0", hi2.KMeans, {"n_clusters": 0}),
        (r"'copies'", hi2.KMeans, {"copies": -1}),
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    with pytest.raises(hi2.InvalidParameter, match=match):
        spec(**keywords)


def test_there_are_never_more_clusters_than_documents(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:7], terms=None, clusters=hi2.KMeans(1000))
    assert index.model.n_clusters == 7


def test_the_sample_is_limited_per_cluster():
    spec = hi2.KMeans(10, points_per_cluster=5)
    assert spec.sample_size(1000) == 50
    assert spec.sample_size(30) == 30
    assert spec.sample_size(3) == 3


def test_a_small_sample_gives_fewer_clusters(corpus):
    clusters = hi2.KMeans(50).fit(corpus.vectors[:20], n_docs=500, threads=1)
    assert clusters.n_clusters == clusters.spec.n_clusters == 20
    assert clusters.default_probes == 16
    assert clusters.dim == corpus.vectors.shape[1]
    assert clusters.centroids is clusters.anchors


@pytest.mark.parametrize(
    ("anchors", "centroids", "match"),
    [
        (np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32), r"\(2, 3\) and \(3, 3\)"),
        (np.zeros(3, np.float32), np.zeros(3, np.float32), r"\(n_clusters, dim\)"),
        (np.zeros((2, 3)), np.zeros((2, 3), np.float32), "'anchors'.*float64"),
        (np.zeros((2, 3), np.float32), np.full((2, 3), np.nan, np.float32), "'centroids'.*finite"),
        (np.zeros((3, 2), np.float32).T, np.zeros((2, 3), np.float32), "'anchors'.*C-contiguous"),
    ],
)
def test_arrays_that_are_no_clusters_are_refused(anchors, centroids, match):
    with pytest.raises(hi2.InvalidParameter, match=match):
        hi2.ClusterSelector(hi2.KMeans(), anchors, centroids)


def test_a_spec_of_another_number_of_clusters_is_refused(corpus):
    fitted = hi2.KMeans(10).fit(corpus.vectors, n_docs=500, threads=1)
    for n_clusters in (9, 11):
        with pytest.raises(hi2.InvalidParameter, match=f"'anchors'.*the {n_clusters} that the spec says. Got 10"):
            hi2.ClusterSelector(hi2.KMeans(n_clusters), fitted.anchors, fitted.centroids)
    assert hi2.ClusterSelector(hi2.KMeans(), fitted.anchors, fitted.centroids).n_clusters == 10
