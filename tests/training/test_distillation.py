"""Training makes better parts for a collection where BM25 must fail, and the same seed gives the same parts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2
from hi2.codecs import OPQ, Flat
from hi2.selectors.clusters import KMeans
from hi2.selectors.terms import BM25
from hi2.store.trained_parts import Parts
from hi2.training import Settings
from teaching import LIGHT, train


def recall_by_terms(topics, index):
    """The share of the documents of a query's topic that its terms alone find."""
    hits = index.search(topics.query_vectors, topics.queries, clusters=0, k=50)
    targets = [set(np.flatnonzero(topics.topic == topics.topic[p[0]])) for p in topics.positives]
    return np.mean([len(set(ids) & wanted) / len(wanted) for ids, wanted in zip(hits.ids, targets, strict=True)])


def build(topics, parts=None, **changes):
    arguments = {"clusters": KMeans(12), "terms": BM25(per_doc=2), "codec": Flat()} if parts is None else {
        "clusters": parts.clusters, "terms": parts.terms, "codec": parts.codec, "term_weights": parts.term_weights
    }  # fmt: skip
    return hi2.HybridIndex.build(topics.vectors, topics.texts, progress=False, threads=1, **{**arguments, **changes})


def test_trained_terms_succeed_where_bm25_fails(topics, light_parts):
    assert recall_by_terms(topics, build(topics)) < 0.2
    assert recall_by_terms(topics, build(topics, light_parts, codec=Flat())) > 0.8


def test_every_student_improves_on_dev(light_parts):
    for name, values in light_parts.record["curve"]["dev"].items():
        assert min(values) < values[0], name
    assert min(light_parts.record["curve"]["dev"]["terms"]) < 0.8 * light_parts.record["curve"]["dev"]["terms"][0]
    assert set(light_parts.record["codec"]) == {"untrained", "kept", "encoded again"}


def test_trained_centroids_leave_assignments_alone(topics, light_parts):
    assert not np.array_equal(light_parts.clusters.centroids, light_parts.clusters.anchors)
    start = KMeans(12).fit(topics.vectors, n_docs=len(topics.vectors), threads=1)
    assert np.array_equal(light_parts.clusters.anchors, start.anchors)
    assert np.array_equal(light_parts.clusters.assign(topics.vectors)[0], start.assign(topics.vectors)[0])


def test_labels_are_optional(topics, light_parts):
    assert not light_parts.record["labels"]
    labelled = train(topics, positives=topics.positives)
    assert labelled.record["labels"]
    assert recall_by_terms(topics, build(topics, labelled, codec=Flat())) > 0.8


def test_the_same_seed_gives_the_same_parts(topics, light_parts):
    again = train(topics)
    assert np.array_equal(light_parts.clusters.centroids, again.clusters.centroids)
    assert np.array_equal(light_parts.terms.gains, again.terms.gains)
    for name, array in light_parts.codec.arrays.items():
        assert np.array_equal(array, again.codec.arrays[name])
    other = train(topics, replace(LIGHT, seed=1))
    assert not np.array_equal(light_parts.terms.gains, other.terms.gains)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queries": ["a"] * 5, "query_vectors": np.eye(5, 16, dtype=np.float32)}, "at least one batch"),
        ({"positives": [[]] * 400}, "a query with a positive"),
        ({"positives": [[999_999]] * 400}, "rows of the 288 documents"),
        ({"positives": [[0]] * 3}, "one for each query vector"),
        ({"queries": ["a"] * 3}, "one for each query vector"),
        ({"dev": range(400)}, "some to train and some to choose on. Got 0 and 400"),
        ({"dev": []}, "some to train and some to choose on"),
        ({"dev": [1000]}, "positions of the 400 queries"),
        ({"dev": [-1]}, "positions of the 400 queries"),
        ({"terms": None}, "learns them"),
        ({"settings": Settings(method="light", batch=32, max_queries=20)}, "at least one batch"),
        ({"texts": None}, "texts"),
        ({"query_vectors": None}, "query_vectors"),
        ({"query_vectors": np.full((400, 16), np.nan, np.float32)}, "finite"),
        ({"query_vectors": np.zeros((400, 8), np.float32)}, "dim"),
        ({"codec": Flat(), "settings": Settings(method="jpq", batch=32)}, "nothing to train"),
    ],
)
def test_the_bad_argument_is_named(topics, changes, message):
    with pytest.raises(hi2.InvalidParameter, match=message):
        train(topics, **changes)


@pytest.mark.parametrize("method", ["distill-vq", "jpq", "ivf"])
def test_baselines_improve_on_dev(topics, method):
    parts = train(topics, Settings(method=method, epochs=4, batch=32, rate=0.01, hard=6, lexical=4, depth=40))
    curve = parts.record["curve"]["dev"]
    assert set(curve) == {"distill-vq": {"clusters", "codec"}, "jpq": {"codec", "query"}, "ivf": {"clusters"}}[method]
    assert min(curve["codec" if "codec" in curve else "clusters"]) < next(iter(curve.values()))[0]
    assert (parts.codec.query_map is not None) == (method == "jpq")
    assert parts.terms is None or parts.terms.gains is None


def test_texts_without_terms_are_trained_on_without_error(topics):
    parts = train(topics, texts=[""] * len(topics.texts))
    assert all(np.isfinite(values).all() for values in parts.record["curve"]["dev"].values())


def test_a_rotation_is_trained_if_asked_for(topics):
    settings = Settings(method="distill-vq", epochs=3, batch=32, rate=1e-3, rotation=True, depth=40)
    parts = train(topics, settings, codec=OPQ(subspaces=4, residual=True))
    assert parts.codec.spec.residual
    start = parts.codec.arrays.get("encoding_rotation")
    assert start is None or not np.array_equal(start, parts.codec.arrays["rotation"])
    plain = train(topics, settings)  # PQ has no rotation
    assert "rotation" not in plain.codec.arrays
    values = parts.record["curve"]["dev"]["codec"]
    assert min(values) < values[0]


def test_saved_parts_load_with_their_record(topics, light_parts, tmp_path):
    light_parts.save(tmp_path / "parts")
    loaded = Parts.load(tmp_path / "parts")
    assert loaded.record == json.loads(json.dumps(dict(light_parts.record)))
    assert {"settings", "data", "versions", "curve"} <= set(loaded.record)
    assert np.array_equal(loaded.terms.gains, light_parts.terms.gains)
    first, second = (build(topics, one).search(topics.query_vectors, topics.queries) for one in (light_parts, loaded))
    assert np.array_equal(first.ids, second.ids)
    with pytest.raises(hi2.InvalidParameter, match="without trained parts"):
        light_parts.save(tmp_path / "parts")
    (tmp_path / "parts" / "centroids.npy").write_bytes(b"x" * 10)
    with pytest.raises(hi2.FormatError, match=r"centroids\.npy"):
        Parts.load(tmp_path / "parts")
    with pytest.raises(hi2.InvalidParameter, match="hi2 train"):
        Parts.load(tmp_path / "nothing")
