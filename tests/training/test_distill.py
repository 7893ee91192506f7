"""Training makes better parts on a collection where BM25 must fail, and a run can be stopped, resumed and repeated."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2  # noqa: E402
from hi2.codecs import OPQ, PQ, Flat  # noqa: E402
from hi2.parts import Parts  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.selectors.terms import BM25  # noqa: E402
from hi2.training import Settings, distill  # noqa: E402
from hi2.training import loop as loop_module  # noqa: E402
from hi2.training.loop import CHECKPOINT, Diverged, Loop  # noqa: E402

LIGHT = Settings(method="light", epochs=6, batch=32, rate=0.05, hard=6, lexical=4, depth=40)


def trained(topics, settings=LIGHT, **changes):
    given = {
        "vectors": topics.vectors,
        "texts": topics.texts,
        "queries": topics.queries,
        "query_vectors": topics.query_vectors,
        "clusters": KMeans(12),
        "terms": BM25(per_doc=2),
        "codec": PQ(subspaces=4, bits=4),
        "settings": settings,
        "threads": 1,
        "progress": False,
        **changes,
    }
    return distill(**given)


def reach(topics, index, **options):
    """The share of a query's topic that its terms alone find."""
    options = {"clusters": 0, "k": 50, **options}
    hits = index.search(topics.query_vectors, topics.queries, **options)
    wanted = [set(np.flatnonzero(topics.topic == topics.topic[p[0]])) for p in topics.positives]
    return np.mean([len(set(ids) & own) / len(own) for ids, own in zip(hits.ids, wanted, strict=True)])


def built(topics, parts=None, **parts_given):
    given = {"clusters": KMeans(12), "terms": BM25(per_doc=2), "codec": Flat()} if parts is None else {
        "clusters": parts.clusters, "terms": parts.terms, "codec": parts.codec, "term_weights": parts.term_weights
    }  # fmt: skip
    return hi2.HybridIndex.build(topics.vectors, topics.texts, progress=False, threads=1, **{**given, **parts_given})


@pytest.fixture(scope="module")
def parts(topics):
    return trained(topics)


def test_trained_terms_succeed_where_bm25_fails(topics, parts):
    assert reach(topics, built(topics)) < 0.2
    assert reach(topics, built(topics, parts, codec=Flat())) > 0.8


def test_what_is_learned_is_better_on_dev(parts):
    for name, values in parts.record["curve"]["dev"].items():
        assert min(values) < values[0], name
    assert min(parts.record["curve"]["dev"]["terms"]) < 0.8 * parts.record["curve"]["dev"]["terms"][0]
    assert set(parts.record["codec"]) == {"untrained", "kept", "encoded again"}


def test_trained_centroids_leave_assignments_alone(topics, parts):
    assert not np.array_equal(parts.clusters.centroids, parts.clusters.anchors)
    start = KMeans(12).fit(topics.vectors, n_docs=len(topics.vectors), threads=1)
    assert np.array_equal(parts.clusters.anchors, start.anchors)
    assert np.array_equal(parts.clusters.assign(topics.vectors)[0], start.assign(topics.vectors)[0])


def test_labels_may_be_left_out_or_given(topics, parts):
    assert not parts.record["labels"]
    labelled = trained(topics, positives=topics.positives)
    assert labelled.record["labels"]
    assert reach(topics, built(topics, labelled, codec=Flat())) > 0.8


def test_the_same_seed_gives_the_same_parts(topics, parts):
    again = trained(topics)
    for mine, its in ((parts.clusters.centroids, again.clusters.centroids), (parts.terms.gains, again.terms.gains)):
        assert np.array_equal(mine, its)
    assert all(np.array_equal(parts.codec.arrays[name], again.codec.arrays[name]) for name in parts.codec.arrays)
    from dataclasses import replace

    other = trained(topics, replace(LIGHT, seed=1))
    assert not np.array_equal(parts.terms.gains, other.terms.gains)


def test_a_killed_run_resumes_to_the_same_result(topics, parts, tmp_path, monkeypatch):
    epoch, seen = Loop._one_epoch, []

    def killed(self, examples):
        seen.append(self._epoch)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return epoch(self, examples)

    monkeypatch.setattr(Loop, "_one_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        trained(topics, folder=tmp_path)
    assert (tmp_path / "checkpoints" / CHECKPOINT).is_file()
    resumed = trained(topics, folder=tmp_path)
    assert seen[4] == 3  # the epoch that was interrupted, not the first
    assert np.array_equal(resumed.terms.gains, parts.terms.gains)
    assert np.array_equal(resumed.clusters.centroids, parts.clusters.centroids)
    assert resumed.record["curve"] == parts.record["curve"]


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_checkpoint(topics, tmp_path, monkeypatch):
    losses, calls = Loop.losses, []

    def broken(self, batch):
        calls.append(self._epoch)
        found = losses(self, batch)
        spoilt = np.nan if self._epoch == 1 and self.students.training else 1.0
        return {name: loss * spoilt for name, loss in found.items()}

    monkeypatch.setattr(Loop, "losses", broken)
    with pytest.raises(Diverged, match="epoch 2, step 1: lower 'rate'"):
        trained(topics, folder=tmp_path)
    state = torch.load(tmp_path / "checkpoints" / CHECKPOINT, weights_only=True)
    assert state["epoch"] == 1
    assert all(torch.isfinite(tensor).all() for tensor in state["students"].values())


def test_a_full_disk_keeps_the_last_checkpoint(topics, tmp_path, monkeypatch):
    save, calls = torch.save, []

    def full(state, path):
        calls.append(path)
        if len(calls) == 3:
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        save(state, path)

    monkeypatch.setattr(loop_module.torch, "save", full)
    with pytest.raises(hi2.Error, match=r"No space left.*The last checkpoint is kept"):
        trained(topics, folder=tmp_path)
    state = torch.load(tmp_path / "checkpoints" / CHECKPOINT, weights_only=True)
    assert state["epoch"] == 1
    assert [file.name for file in (tmp_path / "checkpoints").iterdir()] == [CHECKPOINT]


def test_a_checkpoint_of_another_run_is_refused(topics, tmp_path):
    from dataclasses import replace

    trained(topics, replace(LIGHT, epochs=1), folder=tmp_path)
    with pytest.raises(hi2.InvalidParameter, match="other settings or data"):
        trained(topics, replace(LIGHT, epochs=2), folder=tmp_path)
    (tmp_path / "checkpoints" / CHECKPOINT).write_bytes(b"not a checkpoint")
    with pytest.raises(hi2.InvalidParameter, match="cannot be gone on with"):
        trained(topics, replace(LIGHT, epochs=1), folder=tmp_path)


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
        ({"texts": None}, "texts"),
        ({"query_vectors": None}, "query_vectors"),
        ({"query_vectors": np.full((400, 16), np.nan, np.float32)}, "finite"),
        ({"query_vectors": np.zeros((400, 8), np.float32)}, "dim"),
        ({"codec": Flat(), "settings": Settings(method="jpq", batch=32)}, "nothing to train"),
    ],
)
def test_bad_input_is_named(topics, changes, message):
    with pytest.raises(hi2.InvalidParameter, match=message):
        trained(topics, **changes)


@pytest.mark.parametrize("bad", [{"method": "magic"}, {"batch": 1}, {"rate": 0.0}, {"epochs": 0}, {"perplexity": 0.5}])
def test_bad_settings_are_named(bad):
    with pytest.raises(hi2.InvalidParameter, match=next(iter(bad))):
        Settings(**bad)


@pytest.mark.parametrize("method", ["distill-vq", "jpq", "ivf"])
def test_learned_baselines_learn(topics, method):
    own = trained(topics, Settings(method=method, epochs=4, batch=32, rate=0.01, hard=6, lexical=4, depth=40))
    curve = own.record["curve"]["dev"]
    assert set(curve) == {"distill-vq": {"clusters", "codec"}, "jpq": {"codec", "query"}, "ivf": {"clusters"}}[method]
    assert min(curve["codec" if "codec" in curve else "clusters"]) < next(iter(curve.values()))[0]
    assert (own.query_map is not None) == (method == "jpq")
    assert own.terms is None or own.terms.gains is None


def test_four_bits_and_rotations_learn_too(topics):
    settings = Settings(method="distill-vq", epochs=3, batch=32, rate=1e-3, rotation=True, depth=40)
    own = trained(topics, settings, codec=OPQ(subspaces=4, residual=True))
    assert own.codec.spec.residual
    assert min(own.record["curve"]["dev"]["codec"]) < own.record["curve"]["dev"]["codec"][0]


def test_parts_are_kept_with_what_they_were_trained_on(topics, parts, tmp_path):
    parts.save(tmp_path / "parts")
    loaded = Parts.load(tmp_path / "parts")
    assert loaded.record == json.loads(json.dumps(dict(parts.record)))
    assert {"settings", "data", "versions", "curve"} <= set(loaded.record)
    assert np.array_equal(loaded.terms.gains, parts.terms.gains)
    first, second = (built(topics, own).search(topics.query_vectors, topics.queries) for own in (parts, loaded))
    assert np.array_equal(first.ids, second.ids)
    with pytest.raises(hi2.InvalidParameter, match="without trained parts"):
        parts.save(tmp_path / "parts")
    (tmp_path / "parts" / "centroids.npy").write_bytes(b"x" * 10)
    with pytest.raises(hi2.FormatError, match=r"centroids\.npy"):
        Parts.load(tmp_path / "parts")
    with pytest.raises(hi2.InvalidParameter, match="hi2 train"):
        Parts.load(tmp_path / "nothing")
