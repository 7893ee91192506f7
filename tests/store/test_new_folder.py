"""A new index appears on disk all at once, and never over another."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import hi2
from hi2.store.folder import Folder
from hi2.store.new_folder import new_folder


def test_save_and_build_reject_an_existing_folder(small, tmp_path):
    small.save(tmp_path / "a")
    with pytest.raises(hi2.InvalidParameter, match="does not exist yet"):
        small.save(tmp_path / "a")
    with pytest.raises(hi2.InvalidParameter, match="does not exist yet"):
        hi2.HybridIndex.build(np.eye(3), terms=None, path=tmp_path / "a")


def test_only_one_of_several_concurrent_saves_to_a_path_succeeds(small, tmp_path):
    """One save succeeds, the others are rejected, and the saved index is intact."""
    outcomes = []

    def save():
        try:
            small.save(tmp_path / "a")
            outcomes.append("saved")
        except hi2.Error:
            outcomes.append("refused")

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("saved") == 1
    hi2.HybridIndex.open(tmp_path / "a").verify()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(("raised", "expected"), [(RuntimeError, RuntimeError), (OSError, hi2.Error)])
def test_a_block_that_fails_leaves_nothing_behind(tmp_path, raised, expected):
    def fail(writer):
        (writer.folder.path / "half").write_text("written")
        raise raised("stopped")

    with pytest.raises(expected), new_folder(tmp_path / "a") as writer:
        fail(writer)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_takes_its_name_when_the_block_ends(tmp_path):
    with new_folder(tmp_path / "deep" / "a") as writer:
        (writer.folder.path / "file").write_text("whole")
        assert not (tmp_path / "deep" / "a").exists()
    assert (tmp_path / "deep" / "a" / "file").read_text() == "whole"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a"]


def test_a_manifest_that_the_disk_does_not_confirm_is_no_saved_index(small, tmp_path, monkeypatch):
    sync = Folder.sync

    def fail(self):
        if (self.path / "manifest.json").exists():
            raise OSError(5, "Input/output error")
        sync(self)

    monkeypatch.setattr(Folder, "sync", fail)
    with pytest.raises(hi2.Error, match=r"could not be written.*Nothing was left behind"):
        small.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_the_disk_does_not_confirm_is_said_to_be_there(small, tmp_path, monkeypatch):
    sync = Folder.sync

    def fail(self):
        if self.path == tmp_path:
            raise OSError(5, "Input/output error")
        sync(self)

    monkeypatch.setattr(Folder, "sync", fail)
    with pytest.raises(hi2.Error, match="is written, but the disk did not confirm"):
        small.save(tmp_path / "a")
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 60


# -- in the place of another index ------------------------------------------------------------------------------------


def test_an_index_takes_the_place_of_another_that_readers_go_on_reading(small, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    other = hi2.HybridIndex.build(np.eye(3), terms=None)
    other.save(tmp_path / "a", overwrite=True)
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 3
    assert len(reader) == len(small)
    assert [hit.text for hit in reader.search(None, "error", k=3)] == [
        hit.text for hit in small.search(None, "error", k=3)
    ]
    hi2.HybridIndex.build(np.eye(5), terms=None, path=tmp_path / "a", overwrite=True).close()
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    other.save(tmp_path / "b", overwrite=True)
    assert len(hi2.HybridIndex.open(tmp_path / "b")) == 3


@pytest.mark.parametrize("one_step", [True, False])
def test_the_old_index_stays_if_the_new_one_is_not_finished(small, tmp_path, monkeypatch, one_step):
    if not one_step:
        monkeypatch.setattr("hi2.store.folder._exchange", lambda *_: False)
    small.save(tmp_path / "a")
    with pytest.raises(RuntimeError), new_folder(tmp_path / "a", overwrite=True):
        raise RuntimeError("stopped")
    hi2.HybridIndex.open(tmp_path / "a").verify()
    hi2.HybridIndex.build(np.eye(3), terms=None).save(tmp_path / "a", overwrite=True)
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_only_an_index_that_nobody_writes_is_replaced(small, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("dear")
    for name in ("mine", "file"):
        with pytest.raises(hi2.InvalidParameter, match="an index where overwrite=True"):
            small.save(tmp_path / name, overwrite=True)
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w"), pytest.raises(hi2.Locked):
        small.save(tmp_path / "a", overwrite=True)
    with pytest.raises(hi2.InvalidParameter, match="'overwrite'"):
        small.save(tmp_path / "b", overwrite="yes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "file", "mine"]


def test_a_swap_that_fails_leaves_the_old_index_in_its_place(small, tmp_path, monkeypatch):
    small.save(tmp_path / "a")
    rename = Folder.rename

    def failing(own, old, new):
        if new == "a" and not old.endswith(".swap"):
            raise OSError("no")
        rename(own, old, new)

    monkeypatch.setattr("hi2.store.folder._exchange", lambda *_: False)
    monkeypatch.setattr(Folder, "rename", failing)
    with pytest.raises(hi2.Error, match="could not be written"):
        hi2.HybridIndex.build(np.eye(3), terms=None).save(tmp_path / "a", overwrite=True)
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == len(small)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
