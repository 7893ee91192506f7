"""A commit that is interrupted does no harm, and a writer removes only files of its own."""

from __future__ import annotations

import pytest

import hi2
from hi2.store import commit as committing


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
