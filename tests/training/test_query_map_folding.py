"""Folding a map into an index gives the results of mapping every query before the search."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2
import teaching
from hi2.codecs import OPQ, PQ
from hi2.selectors.clusters import KMeans
from hi2.training.query_map_folding import can_fold, fold_query_map


@pytest.mark.parametrize(
    "spec", [PQ(subspaces=4), OPQ(subspaces=4), OPQ(subspaces=3), PQ(subspaces=5, bits=4)], ids=repr
)
@pytest.mark.parametrize("moved", [False, True])
def test_a_folded_map_scores_as_mapped_queries_do(topics, spec, moved):
    random = np.random.default_rng(5)
    query_map = (np.eye(16) + 0.3 * random.standard_normal((16, 16))).astype(np.float32)
    clusters = KMeans(12).fit(topics.vectors, n_docs=len(topics.vectors), threads=1)
    codec = spec.fit(topics.vectors, threads=1)
    if moved:  # training moves codewords and keeps codes
        first = {"encoding_" + name: array for name, array in codec.arrays.items()}
        books = codec.arrays["codebooks"] + 0.05 * random.standard_normal(codec.arrays["codebooks"].shape)
        codec = codec.spec.restore(16, {**codec.arrays, **first, "codebooks": books.astype(np.float32)})
    assert can_fold(codec)
    folded_clusters, folded_codec = fold_query_map(query_map, clusters, codec)
    assert folded_codec.encoding_name == codec.encoding_name  # no document has to be encoded again
    assert np.array_equal(folded_codec.encode(topics.vectors), codec.encode(topics.vectors))
    before, after = (
        hi2.HybridIndex.build(topics.vectors, clusters=a, terms=None, codec=b, progress=False)
        for a, b in ((clusters, codec), (folded_clusters, folded_codec))
    )
    queries = topics.query_vectors[:30]
    expected = before.search(queries @ query_map.T, k=20, clusters=3)
    hits = after.search(queries, k=20, clusters=3)
    np.testing.assert_allclose(hits.scores, expected.scores, atol=1e-5)
    assert np.mean(hits.ids == expected.ids) > 0.95  # ties within rounding may differ


def test_training_from_a_map_that_cannot_be_inverted_is_refused(topics):
    singular = np.zeros((16, 16), np.float32)
    singular[0, 0] = 1.0
    clusters = KMeans(12).fit(topics.vectors, n_docs=len(topics.vectors), threads=1)
    codec = OPQ(subspaces=4, bits=4).fit(topics.vectors, threads=1)
    clusters, codec = fold_query_map(singular, clusters, codec)
    with pytest.raises(hi2.InvalidParameter, match="before it"):
        teaching.train(topics, clusters=clusters, codec=codec)


def test_a_map_of_the_wrong_shape_is_refused(topics):
    codec = OPQ(subspaces=4, bits=4).fit(topics.vectors, threads=1)
    with pytest.raises(ValueError, match="map of queries"):
        codec.spec.restore(16, {**codec.arrays, "query_map": np.eye(8, dtype=np.float32)})
