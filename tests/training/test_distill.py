"""Training makes better parts on a collection where BM25 must fail, and a run can be stopped, resumed and repeated."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2  # noqa: E402
import teaching  # noqa: E402
from hi2.codecs import OPQ, PQ, Flat  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.selectors.terms import BM25  # noqa: E402
from hi2.store.parts import Parts  # noqa: E402
from hi2.training import Settings  # noqa: E402
from hi2.training import loop as loop_module  # noqa: E402
from hi2.training.loop import CHECKPOINT, Diverged, Loop  # noqa: E402

LIGHT = Settings(method="light", epochs=6, batch=32, rate=0.05, hard=6, lexical=4, depth=40)


def trained(topics, settings=LIGHT, **changes):
    return teaching.trained(topics, settings, **changes)


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
    begun = teaching.kill_at(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        trained(topics, folder=tmp_path)
    assert (tmp_path / "checkpoints" / CHECKPOINT).is_file()
    resumed = trained(topics, folder=tmp_path)
    assert begun[4] == (Loop, 3)  # the epoch that was interrupted, not the first
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


def test_what_the_last_step_of_an_epoch_spoils_is_not_kept(topics, tmp_path, monkeypatch):
    epoch = Loop._one_epoch

    def spoilt(self, examples):
        value = epoch(self, examples)
        if self._epoch == 1:
            self.students["clusters"].centroids.data[0] = np.nan
        return value

    monkeypatch.setattr(Loop, "_one_epoch", spoilt)
    with pytest.raises(Diverged, match="Epoch 2 ended in numbers that are not finite"):
        trained(topics, folder=tmp_path)
    monkeypatch.setattr(Loop, "_one_epoch", epoch)
    from dataclasses import replace

    resumed = trained(topics, replace(LIGHT, rate=0.01), folder=tmp_path)  # as the message says
    assert np.isfinite(resumed.clusters.centroids).all()


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
    for other in (
        {"settings": replace(LIGHT, seed=1)},
        {"positives": topics.positives},
        {"clusters": KMeans(12, seed=5)},
        {"codec": PQ(subspaces=4, bits=4, residual=True)},
        {"vectors": topics.vectors[::-1].copy()},
        {"texts": topics.texts[::-1]},
    ):
        with pytest.raises(hi2.InvalidParameter, match="other settings or data"):
            trained(topics, **{"settings": replace(LIGHT, epochs=1), "folder": tmp_path, **other})
    longer = trained(topics, replace(LIGHT, epochs=2, rate=0.01), folder=tmp_path)
    assert len(longer.record["curve"]["train"]) == 2  # how fast and how long may change
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
    assert (own.codec.query_map is not None) == (method == "jpq")
    assert own.terms is None or own.terms.gains is None


def test_jpq_keeps_codebooks_and_queries_of_one_epoch(topics, tmp_path, monkeypatch):
    settings = Settings(method="jpq", epochs=4, batch=32, rate=0.5, patience=9)  # too fast: it is best before it begins
    own = trained(topics, settings)
    curve = own.record["curve"]["dev"]
    assert curve["codec"] == curve["query"]
    assert np.argmin(curve["codec"]) == 0
    assert np.array_equal(own.codec.query_map, np.eye(16, dtype=np.float32))
    assert np.array_equal(own.clusters.centroids, own.clusters.anchors)


@pytest.mark.parametrize("residual", [False, True])
def test_jpq_takes_its_negatives_from_the_live_ranking(topics, residual):
    from hi2.training.students import Codebooks

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
    scores = student.live(torch.from_numpy(queries), student.decoded()).detach().numpy()
    hits = index.search(queries, k=20, clusters=12)
    for own, ids, found in zip(scores, hits.ids, hits.scores, strict=True):
        np.testing.assert_allclose(own[ids], found, atol=1e-4)  # what training ranks by is what a search scores
        assert own.max() == pytest.approx(found[0], abs=1e-4)


@pytest.mark.parametrize("method", ["jpq", "distill-vq"])
def test_other_methods_resume_to_the_same_result_too(topics, method, tmp_path, monkeypatch):
    settings = Settings(method=method, epochs=3, batch=32, rate=0.01, depth=40)
    whole = trained(topics, settings)
    teaching.kill_at(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        trained(topics, settings, folder=tmp_path)
    resumed = trained(topics, settings, folder=tmp_path)
    assert resumed.record["curve"] == whole.record["curve"]
    assert all(np.array_equal(resumed.codec.arrays[name], whole.codec.arrays[name]) for name in whole.codec.arrays)


def test_dense_lists_are_not_credited_at_a_cost_of_their_own():
    from hi2.training.density import Reach

    reference = Reach(np.array([10.0, 60, 100]), np.array([0.2, 0.4, 0.5]))
    dense = Reach(np.array([10.0, 900, 1000]), np.array([0.2, 0.55, 0.6]))
    better = Reach(np.array([10.0, 60, 100]), np.array([0.2, 0.45, 0.55]))
    assert dense.gain_over(reference) < 0 < better.gain_over(reference)
    assert reference.gain_over(reference) == 0


def test_a_student_that_has_settled_is_left_alone(topics, tmp_path, monkeypatch):
    settings = Settings(method="light", epochs=9, batch=32, rate=0.3, hard=6, lexical=4, depth=40, patience=2)
    whole = trained(topics, settings)
    looks = {name: len(values) for name, values in whole.record["curve"]["dev"].items()}
    assert min(looks.values()) < max(looks.values())  # or nothing settles here before the end
    for values in whole.record["curve"]["dev"].values():
        assert len(values) - 1 - int(np.argmin(values)) <= settings.patience
    teaching.kill_at(monkeypatch, max(looks.values()) - 1)  # after the first has settled
    with pytest.raises(KeyboardInterrupt):
        trained(topics, settings, folder=tmp_path)
    resumed = trained(topics, settings, folder=tmp_path)
    assert resumed.record["curve"] == whole.record["curve"]
    assert np.array_equal(resumed.terms.gains, whole.terms.gains)


def test_texts_without_a_word_teach_no_terms(topics):
    parts = trained(topics, texts=[""] * len(topics.texts))
    assert all(np.isfinite(values).all() for values in parts.record["curve"]["dev"].values())


def test_rotations_learn_too(topics):
    settings = Settings(method="distill-vq", epochs=3, batch=32, rate=1e-3, rotation=True, depth=40)
    own = trained(topics, settings, codec=OPQ(subspaces=4, residual=True))
    assert own.codec.spec.residual
    start = own.codec.arrays.get("encoding_rotation")
    assert start is None or not np.array_equal(start, own.codec.arrays["rotation"])
    plain = trained(topics, settings)  # PQ has none to learn
    assert "rotation" not in plain.codec.arrays
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
