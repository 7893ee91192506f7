"""A run can be interrupted and resumed, stops when it diverges, and never spoils its last checkpoint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2  # noqa: E402
from hi2.codecs import PQ  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.training import Settings  # noqa: E402
from hi2.training import checkpoint as checkpoint_module  # noqa: E402
from hi2.training.checkpoint import CHECKPOINT, load_checkpoint  # noqa: E402
from hi2.training.loop import Diverged, Loop  # noqa: E402
from teaching import LIGHT, interrupt_epoch, train  # noqa: E402


def test_an_interrupted_run_resumes_to_the_same_result(topics, light_parts, tmp_path, monkeypatch):
    started = interrupt_epoch(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        train(topics, folder=tmp_path)
    assert (tmp_path / "checkpoints" / CHECKPOINT).is_file()
    resumed = train(topics, folder=tmp_path)
    assert started[4] == (Loop, 3)  # the interrupted epoch, not the first
    assert np.array_equal(resumed.terms.gains, light_parts.terms.gains)
    assert np.array_equal(resumed.clusters.centroids, light_parts.clusters.centroids)
    assert resumed.record["curve"] == light_parts.record["curve"]


@pytest.mark.parametrize("method", ["jpq", "distill-vq"])
def test_other_methods_resume_to_the_same_result(topics, method, tmp_path, monkeypatch):
    settings = Settings(method=method, epochs=3, batch=32, rate=0.01, depth=40)
    whole = train(topics, settings)
    interrupt_epoch(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        train(topics, settings, folder=tmp_path)
    resumed = train(topics, settings, folder=tmp_path)
    assert resumed.record["curve"] == whole.record["curve"]
    assert all(np.array_equal(resumed.codec.arrays[name], whole.codec.arrays[name]) for name in whole.codec.arrays)


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(topics, tmp_path, monkeypatch):
    losses = Loop.losses

    def broken(self, batch):
        factor = np.nan if self._epoch == 1 and self.students.training else 1.0
        return {name: loss * factor for name, loss in losses(self, batch).items()}

    monkeypatch.setattr(Loop, "losses", broken)
    with pytest.raises(Diverged, match="epoch 2, step 1: lower 'rate'"):
        train(topics, folder=tmp_path)
    tensors, facts = load_checkpoint(tmp_path / "checkpoints" / CHECKPOINT, torch.device("cpu"))
    assert facts["epoch"] == 1
    assert all(torch.isfinite(tensor).all() for tensor in tensors["students"].values())


def test_values_that_are_not_finite_after_the_last_step_are_not_saved(topics, tmp_path, monkeypatch):
    train_epoch = Loop._train_epoch

    def broken(self, examples):
        value = train_epoch(self, examples)
        if self._epoch == 1:
            self.students["clusters"].centroids.data[0] = np.nan
        return value

    monkeypatch.setattr(Loop, "_train_epoch", broken)
    with pytest.raises(Diverged, match="Epoch 2 ended in numbers that are not finite"):
        train(topics, folder=tmp_path)
    monkeypatch.setattr(Loop, "_train_epoch", train_epoch)
    resumed = train(topics, replace(LIGHT, rate=0.01), folder=tmp_path)  # as the message advises
    assert np.isfinite(resumed.clusters.centroids).all()


def test_a_full_disk_keeps_the_last_checkpoint(topics, tmp_path, monkeypatch):
    save, calls = checkpoint_module.save_file, []

    def full(tensors, path, metadata):
        calls.append(path)
        if len(calls) == 3:
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        save(tensors, path, metadata)

    monkeypatch.setattr(checkpoint_module, "save_file", full)
    with pytest.raises(hi2.Error, match=r"No space left.*The last checkpoint is kept"):
        train(topics, folder=tmp_path)
    _, facts = load_checkpoint(tmp_path / "checkpoints" / CHECKPOINT, torch.device("cpu"))
    assert facts["epoch"] == 1
    assert [file.name for file in (tmp_path / "checkpoints").iterdir()] == [CHECKPOINT]


def test_a_checkpoint_of_another_run_is_refused(topics, tmp_path):
    train(topics, replace(LIGHT, epochs=1), folder=tmp_path)
    for other in (
        {"settings": replace(LIGHT, seed=1)},
        {"positives": topics.positives},
        {"clusters": KMeans(12, seed=5)},
        {"codec": PQ(subspaces=4, bits=4, residual=True)},
        {"vectors": topics.vectors[::-1].copy()},
        {"texts": topics.texts[::-1]},
    ):
        with pytest.raises(hi2.InvalidParameter, match="other settings or data"):
            train(topics, **{"settings": replace(LIGHT, epochs=1), "folder": tmp_path, **other})
    longer = train(topics, replace(LIGHT, epochs=2, rate=0.01), folder=tmp_path)
    assert len(longer.record["curve"]["train"]) == 2  # rate and epochs may change
    (tmp_path / "checkpoints" / CHECKPOINT).write_bytes(b"not a checkpoint")
    with pytest.raises(hi2.InvalidParameter, match="cannot be resumed from"):
        train(topics, replace(LIGHT, epochs=1), folder=tmp_path)


def test_a_settled_student_is_not_trained_further(topics, tmp_path, monkeypatch):
    settings = Settings(method="light", epochs=9, batch=32, rate=0.3, hard=6, lexical=4, depth=40, patience=2)
    whole = train(topics, settings)
    n_losses = {name: len(values) for name, values in whole.record["curve"]["dev"].items()}
    assert min(n_losses.values()) < max(n_losses.values())  # some student settles before the end
    for values in whole.record["curve"]["dev"].values():
        assert len(values) - 1 - int(np.argmin(values)) <= settings.patience
    interrupt_epoch(monkeypatch, max(n_losses.values()) - 1)  # after the first has settled
    with pytest.raises(KeyboardInterrupt):
        train(topics, settings, folder=tmp_path)
    resumed = train(topics, settings, folder=tmp_path)
    assert resumed.record["curve"] == whole.record["curve"]
    assert np.array_equal(resumed.terms.gains, whole.terms.gains)
