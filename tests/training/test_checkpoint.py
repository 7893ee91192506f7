"""A checkpoint holds tensors and plain facts, and nothing that could run."""

from __future__ import annotations

import pickle

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")
pytest.importorskip("safetensors", reason="needs the extra 'train'")

from safetensors.torch import save_file  # noqa: E402

import hi2  # noqa: E402
from hi2.training.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint  # noqa: E402

CPU = torch.device("cpu")


def test_tensors_and_facts_come_back_as_they_were(tmp_path):
    shared = torch.arange(6, dtype=torch.float64).view(2, 3)
    tensors = {
        "students": {"a.weight": shared, "b.weight": shared.T},  # one memory, one of them not contiguous
        "adam": {0: {"step": torch.tensor(7.0), "exp_avg": torch.zeros(0, 3, dtype=torch.float16)}},
        "best": {},
    }
    facts = {"epoch": 3, "identity": "[1]", "curve": {"train": [0.1, 1e-300], "dev": {"a": [float("inf")]}}}
    save_checkpoint(tmp_path / "new" / CHECKPOINT, tensors, facts)
    loaded, read = load_checkpoint(tmp_path / "new" / CHECKPOINT, CPU)
    assert read == facts
    assert set(loaded) == {"students", "adam"}  # an empty level leaves nothing
    assert torch.equal(loaded["students"]["a.weight"], shared)
    assert torch.equal(loaded["students"]["b.weight"], shared.T)
    assert loaded["adam"]["0"]["step"].shape == ()
    assert loaded["adam"]["0"]["exp_avg"].dtype == torch.float16
    assert [file.name for file in (tmp_path / "new").iterdir()] == [CHECKPOINT]


class Marker:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return type(self.path).touch, (self.path,)


def test_a_pickle_in_place_of_a_checkpoint_is_not_run(tmp_path):
    path, marker = tmp_path / CHECKPOINT, tmp_path / "ran"
    for content in (pickle.dumps(Marker(marker)), b"", b"half", b"\xff" * 64):
        path.write_bytes(content)
        with pytest.raises(hi2.InvalidParameter, match="cannot be resumed from"):
            load_checkpoint(path, CPU)
    save_file({"a": torch.zeros(1)}, path)  # tensors without facts
    with pytest.raises(hi2.InvalidParameter, match="cannot be resumed from"):
        load_checkpoint(path, CPU)
    assert not marker.exists()


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(tmp_path):
    path = tmp_path / CHECKPOINT
    save_checkpoint(path, {"a": torch.ones(1)}, {"epoch": 1})
    (tmp_path / f"{CHECKPOINT}.part").mkdir()  # in the way of the new one
    with pytest.raises(hi2.Error, match="The last checkpoint is kept"):
        save_checkpoint(path, {"a": torch.zeros(1)}, {"epoch": 2})
    assert load_checkpoint(path, CPU)[1] == {"epoch": 1}
