"""A commit that is interrupted does no harm, and a writer removes only files of its own."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.ingest.new_segment import merge_live
from hi2.store import writer as committing
from hi2.store.manifest import read_manifest


def test_an_interrupt_just_after_a_commit_does_no_harm(small, corpus, tmp_path, monkeypatch):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        write = committing.write_manifest

        def write_and_be_interrupted(*arguments):
            write(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(committing, "write_manifest", write_and_be_interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.commit()
        monkeypatch.undo()
        taken = hi2.HybridIndex.open(tmp_path / "a")
        assert len(taken) == 59
        writer.delete(corpus.ids[1])
        writer.commit()
    taken.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert len(again) == 58


def test_a_writer_never_removes_files_it_is_not_sure_about(small, corpus, tmp_path, monkeypatch):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "model_card.md").write_text("mine")
    (tmp_path / "a" / "models").mkdir()
    before = set((tmp_path / "a").rglob("*"))
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        monkeypatch.setattr(committing.Writer, "_named_paths", lambda self: None)  # as if a manifest cannot be read
        writer.delete(corpus.ids[0])
        writer.merge()
        writer.commit()
    monkeypatch.undo()
    assert before <= set((tmp_path / "a").rglob("*"))
    hi2.HybridIndex.open(tmp_path / "a", "w").close()
    assert (tmp_path / "a" / "model_card.md").exists()
    assert (tmp_path / "a" / "models").exists()


def test_a_commit_writes_only_what_changed(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.delete(corpus.ids[0])
        index.commit()
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.npy")}
        index.commit()
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.npy")} == before
        assert read_manifest(tmp_path / "a")["generation"] == 3
        index.delete(corpus.ids[1])
        index.commit()
        new = {path.name for path in (tmp_path / "a").rglob("*.npy")} - {path.name for path in before}
        assert new == {"alive-000004.npy"}


def test_a_transaction_that_fails_removes_the_segments_it_wrote(small, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        state, writer = index._index.state, index._index.writer
        before = set((tmp_path / "a").rglob("*"))

        def fail():
            writer.write_segment(state.model, merge_live(state.model, state.snapshot.segments))
            raise OSError("no space left")

        with pytest.raises(hi2.Error, match="previous commit is intact"), writer.transaction():
            fail()
        assert set((tmp_path / "a").rglob("*")) == before


def test_a_segment_that_cannot_be_written_leaves_no_folder(small, tmp_path):
    small.save(tmp_path / "a")

    def write(sink):
        sink.put("rows.npy", np.uint8, (3,), [np.zeros(3, np.uint8)])
        raise RuntimeError("half written")

    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        before = set((tmp_path / "a").rglob("*"))
        with pytest.raises(RuntimeError):
            index._index.writer.write_segment(index.model, write)
        assert set((tmp_path / "a").rglob("*")) == before
