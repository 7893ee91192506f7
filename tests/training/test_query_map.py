"""Labels teach a map of queries, which is folded into the parts: a search then finds more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2  # noqa: E402
import teaching  # noqa: E402
from hi2.codecs import OPQ, PQ, SQ8, Flat  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.selectors.terms import BM25  # noqa: E402
from hi2.store.trained_parts import Parts  # noqa: E402
from hi2.training import Settings  # noqa: E402
from hi2.training.examples import Batch  # noqa: E402
from hi2.training.query_map import LabelLoop  # noqa: E402
from hi2.training.students import QueryMap  # noqa: E402

LIGHT = Settings(method="light", epochs=8, batch=32, rate=0.02, hard=6, lexical=4, depth=40)


@pytest.fixture(scope="module")
def rotated(topics):
    """The topics with queries of another tower: their vectors are rotated by a random orthogonal matrix."""
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((16, 16)))[0].astype(np.float32)
    positives = [np.flatnonzero(topics.topic == topics.topic[rows[0]]).tolist() for rows in topics.positives]
    return replace(topics, query_vectors=np.ascontiguousarray(topics.query_vectors @ rotation.T), positives=positives)


def train(topics, settings=LIGHT, **changes):
    arguments = {"positives": topics.positives, "codec": OPQ(subspaces=4, bits=4), **changes}
    return teaching.train(topics, settings, **arguments)


def build(topics, parts, **changes):
    arguments = {"clusters": parts.clusters, "terms": None, "codec": parts.codec, **changes}
    return hi2.HybridIndex.build(topics.vectors, topics.texts, progress=False, threads=1, **arguments)


def recall(topics, index):
    hits = index.search(topics.query_vectors, k=12, clusters=2)
    return np.mean([np.isin(wanted, ids).mean() for ids, wanted in zip(hits.ids, topics.positives, strict=True)])


@pytest.fixture(scope="module")
def parts(rotated):
    return train(rotated)


def test_the_map_undoes_a_rotation_of_the_queries(rotated, parts):
    record = parts.record["adapted"]
    assert record["mapped"] > record["before"] + 0.1
    assert record["strength"] > 0
    assert record["strength"] == max(record["tried"], key=lambda one: one["ranked"])["strength"]
    assert parts.codec.query_map.shape == (16, 16)
    plain = train(rotated, replace(LIGHT, adapt=False))
    assert "adapted" not in plain.record
    assert plain.codec.query_map is None
    assert recall(rotated, build(rotated, parts)) > recall(rotated, build(rotated, plain)) + 0.3


def test_saved_parts_find_the_same(rotated, parts, tmp_path):
    parts.save(tmp_path / "parts")
    loaded = Parts.load(tmp_path / "parts")
    assert recall(rotated, build(rotated, loaded)) == recall(rotated, build(rotated, parts))


def test_a_map_that_finds_no_more_is_not_used(topics):
    too_fast = replace(LIGHT, rate=1.0, epochs=2)  # the best state is the first
    diverged = train(topics, too_fast)
    assert diverged.record["adapted"]["mapped"] == diverged.record["adapted"]["before"]
    assert diverged.codec.query_map is None
    plain = train(topics, replace(too_fast, adapt=False))
    assert np.array_equal(diverged.clusters.centroids, plain.clusters.centroids)


def test_a_map_needs_labels_and_a_codec_it_can_be_folded_into(rotated):
    assert "adapted" not in train(rotated, positives=None).record
    assert "adapted" not in train(rotated, codec=OPQ(subspaces=4, residual=True)).record
    assert "adapted" not in train(rotated, codec=Flat()).record
    with pytest.raises(hi2.InvalidParameter, match="not residual"):
        train(rotated, Settings(method="jpq", batch=32), codec=PQ(subspaces=4, residual=True))


def test_an_index_is_refitted_without_its_vectors(rotated, parts):
    index = hi2.HybridIndex.build(
        rotated.vectors,
        rotated.texts,
        clusters=KMeans(12),
        terms=BM25(per_doc=2),
        codec=OPQ(subspaces=4, bits=4),
        keep_text=True,
        threads=1,
        progress=False,
    )
    assert max(parts.record["codec"], key=parts.record["codec"].get) != "encoded again"
    assert recall(rotated, index.refit(parts)) > recall(rotated, index) + 0.3


def test_an_index_with_a_refine_store_is_refused(rotated, parts):
    with pytest.raises(hi2.InvalidParameter, match="no-adapt"):
        build(rotated, parts, refine=SQ8())
    plain = {"clusters": KMeans(12), "terms": None, "codec": OPQ(subspaces=4, bits=4), "refine": SQ8()}
    index = hi2.HybridIndex.build(rotated.vectors, progress=False, threads=1, **plain)
    with pytest.raises(hi2.InvalidParameter, match="no-adapt"):
        index.refit(parts)


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("codec", [OPQ(subspaces=4, bits=4), PQ(subspaces=4, bits=4)], ids=repr)
def test_an_index_with_a_map_can_be_trained_further(rotated, labels, codec):
    first = train(rotated, codec=codec)
    index = build(rotated, first)
    start = {"clusters": index.model.clusters, "codec": index.model.codec}
    again = train(rotated, replace(LIGHT, epochs=2), **start, **({} if labels else {"positives": None}))
    assert again.codec.query_map is not None
    found_by = {name: again.record["codec"][name] for name in ("untrained", "kept", "encoded again")}
    encoded_again = max(found_by, key=found_by.get) == "encoded again"
    assert (again.codec.encoding_name != first.codec.encoding_name) == encoded_again
    assert recall(rotated, build(rotated, again)) > recall(rotated, index) - 0.03
    if labels:  # the teacher starts where the last one ended
        assert again.record["adapted"]["before"] == pytest.approx(first.record["adapted"]["mapped"], abs=1e-6)


def test_a_map_of_a_given_codec_is_folded_into_new_clusters_too(rotated, parts):
    again = train(rotated, replace(LIGHT, rate=1e-6, epochs=1, adapt=False), codec=parts.codec)
    assert recall(rotated, build(rotated, again)) > recall(rotated, build(rotated, parts)) - 0.1


def test_gains_are_trained_on_top_of_gains(rotated, parts):
    almost_no_training = replace(LIGHT, rate=1e-7, epochs=1)
    again = train(rotated, almost_no_training, clusters=parts.clusters, codec=parts.codec, terms=parts.terms)
    assert again.record["density"][0]["found_more"] == pytest.approx(0, abs=1e-3)  # the lists hardly change


def test_a_map_that_ranks_worse_is_not_used(topics, monkeypatch):
    def reverse_ranking(self, *_):  # at every strength
        self.students["query"].change.data.copy_(-5 * torch.eye(16))

    monkeypatch.setattr(LabelLoop, "run", reverse_ranking)
    parts = train(topics, replace(LIGHT, epochs=1))
    record = parts.record["adapted"]
    assert record["strength"] == 0
    assert parts.codec.query_map is None
    assert all(one["ranked"] < record["tried"][0]["ranked"] for one in record["tried"][1:])


@pytest.mark.usefixtures("float64")
def test_the_loss_is_the_formula_and_its_gradient_equals_finite_differences():
    random = np.random.default_rng(11)
    documents, asked = random.standard_normal((9, 8)), random.standard_normal((2, 8))
    pool, positives = np.array([0, 2, 3, 5, 8]), [np.array([2]), np.array([0, 8])]
    loop = LabelLoop({"query": QueryMap(8)}, documents, 0.5, LIGHT, folder=None, data="toy")
    batch = Batch(asked, [], pool, positives)
    shares = teaching.softmax(asked @ documents[pool].T / 0.5)
    expected = -(np.log(shares[0, 1]) + np.log(shares[1, [0, 4]]).mean()) / 2
    assert float(loop.losses(batch)["query"].detach()) == pytest.approx(expected)
    teaching.check_gradients(lambda: loop.losses(batch)["query"], loop.students)


def test_the_loss_of_codes_is_measured_with_mapped_queries(rotated, parts, tmp_path):
    from hi2.evaluation.peers.trained import Light

    parts.save(tmp_path / "light")
    peer = Light(tmp_path / "light")
    vector = rotated.query_vectors[0]
    np.testing.assert_allclose(peer.asked(vector), parts.codec.query_map @ vector, atol=1e-6)


def test_an_interrupted_run_resumes_to_the_same_map(rotated, parts, tmp_path, monkeypatch):
    started = teaching.interrupt_epoch(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        train(rotated, folder=tmp_path)
    assert started == [(LabelLoop, 0), (LabelLoop, 1), (LabelLoop, 2)]
    resumed = train(rotated, folder=tmp_path)
    assert resumed.record["adapted"] == parts.record["adapted"]
    assert np.array_equal(resumed.clusters.centroids, parts.clusters.centroids)
