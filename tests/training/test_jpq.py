"""JPQ: the loss and its gradient, negatives from the current index, one epoch for codebooks and queries."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2  # noqa: E402
import teaching  # noqa: E402
from hi2.codecs import PQ  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.training.examples import Batch  # noqa: E402
from hi2.training.jpq import JPQLoop, _pairwise_loss  # noqa: E402
from hi2.training.settings import Settings  # noqa: E402
from hi2.training.students import Codebooks, QueryMap  # noqa: E402
from teaching import TEMPERATURE, check_gradients, codebook_student, toy_batch, unit_vectors  # noqa: E402


def test_pairs_are_weighted_by_the_change_of_reciprocal_rank():
    scores = torch.tensor([3.0, 2.0, 1.0, 0.0])
    found = _pairwise_loss(scores, np.array([1]), np.array([0, 1, 2]))  # the positive is second
    expected = (1 - 1 / 2) * np.log1p(np.exp(3.0 - 2.0)) + (1 / 2 - 1 / 3) * np.log1p(np.exp(1.0 - 2.0))
    assert float(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.usefixtures("float64")
def test_gradients_of_codebooks_and_map_equal_finite_differences():
    students = {"codec": codebook_student(rotation=False), "query": QueryMap(8)}
    loop = JPQLoop(students, unit_vectors(9, 8), TEMPERATURE, Settings(method="jpq"), folder=None, data="toy")
    batch = toy_batch(8)
    batch = Batch(batch.vectors, batch.terms, batch.pool, [np.array([0]), np.array([2, 5]), np.array([8])])
    check_gradients(lambda: loop.losses(batch)["codec"], loop.students)


def test_codebooks_and_map_are_kept_from_the_same_epoch(topics):
    settings = Settings(method="jpq", epochs=4, batch=32, rate=0.5, patience=9)  # too high: the best state is the first
    parts = teaching.train(topics, settings)
    curve = parts.record["curve"]["dev"]
    assert curve["codec"] == curve["query"]
    assert np.argmin(curve["codec"]) == 0
    assert np.array_equal(parts.codec.query_map, np.eye(16, dtype=np.float32))
    assert np.array_equal(parts.clusters.centroids, parts.clusters.anchors)


@pytest.mark.parametrize("residual", [False, True])
def test_negatives_come_from_the_ranking_of_the_current_index(topics, residual):
    start = KMeans(12).fit(topics.vectors, n_docs=len(topics.vectors), threads=1)
    labels = start.assign(topics.vectors)[0]
    codec = PQ(subspaces=4, residual=residual).fit(
        topics.vectors - (start.anchors[labels] if residual else 0), threads=1
    )
    codes = codec.encode(np.ascontiguousarray(topics.vectors - (start.anchors[labels] if residual else 0)))
    index = hi2.HybridIndex.build(topics.vectors, clusters=start, terms=None, codec=codec, progress=False)
    student = Codebooks(
        codec, codes, rotation=False, anchors=start.anchors if residual else None, labels=labels if residual else None
    )
    queries = topics.query_vectors[:20]
    scores = student.score_all(torch.from_numpy(queries), student.decode()).detach().numpy()
    hits = index.search(queries, k=20, clusters=12)
    for ours, ids, found in zip(scores, hits.ids, hits.scores, strict=True):
        np.testing.assert_allclose(ours[ids], found, atol=1e-4)  # training ranks by the scores of a search
        assert ours.max() == pytest.approx(found[0], abs=1e-4)
