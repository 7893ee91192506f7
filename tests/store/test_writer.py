"""A commit that is interrupted does no harm, and a writer removes only files of its own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import hi2
from hi2.ingest.new_segment import merge_live
from hi2.store import reader
from hi2.store import writer as committing
from hi2.store.folder import Folder
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
        monkeypatch.setattr(committing.Writer, "_named", lambda self: None)  # as if a manifest cannot be read
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
        assert read_manifest(Folder.open(tmp_path / "a"))["generation"] == 3
        index.delete(corpus.ids[1])
        index.commit()
        new = {path.name for path in (tmp_path / "a").rglob("*.npy")} - {path.name for path in before}
        assert new == {"alive-000004.npy"}


def test_a_transaction_that_fails_removes_the_segments_it_wrote(small, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        state, writer = index._index.state, index._index.writer
        before = set((tmp_path / "a").rglob("*"))

        def fail(put):
            put(state.model, merge_live(state.model, state.snapshot.segments))
            raise OSError("no space left")

        with pytest.raises(hi2.Error, match="previous commit is intact"), writer.transaction() as put:
            fail(put)
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


def copies(small, tmp_path):
    """Return two folders with equal indexes."""
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        small.save(tmp_path / place / "index")
    return tmp_path / "one", tmp_path / "two"


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_commit_goes_to_the_folder_that_was_opened(small, corpus, tmp_path, monkeypatch):
    """Not to another index of that name, where the process has gone meanwhile."""
    one, two = copies(small, tmp_path)
    before = content(two)
    monkeypatch.chdir(one)
    with hi2.HybridIndex.open("index", "w") as index:
        monkeypatch.chdir(two)
        index.delete(corpus.ids[:5])
        index.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
        index.merge()
        index.commit()
        index.verify()
    assert content(two) == before
    assert hi2.HybridIndex.open(one / "index").ids() == corpus.ids[5:70]


@pytest.mark.parametrize("swapped_back", [False, True])
def test_a_commit_to_a_folder_that_was_swapped_is_refused(small, corpus, tmp_path, swapped_back):
    one, two = copies(small, tmp_path)
    with hi2.HybridIndex.open(one / "index", "w") as index:
        index.delete(corpus.ids[0])
        (one / "index").rename(tmp_path / "aside")
        (two / "index").rename(one / "index")
        before = content(one), content(tmp_path / "aside")
        with pytest.raises(hi2.Error, match="was moved, removed or replaced"):
            index.commit()
        assert (content(one), content(tmp_path / "aside")) == before
        assert len(index) == 59  # nothing was lost in memory
        if swapped_back:
            (one / "index").rename(two / "index")
            (tmp_path / "aside").rename(one / "index")
            index.commit()
            assert len(hi2.HybridIndex.open(one / "index")) == 59


def test_two_writers_never_drop_each_others_documents(small, corpus, tmp_path):
    """The lock file is removed while it is held, so that a second writer can open the index."""
    small.save(tmp_path / "a")
    first = hi2.HybridIndex.open(tmp_path / "a", "w")
    (tmp_path / "a" / "lock").unlink()
    second = hi2.HybridIndex.open(tmp_path / "a", "w")
    second.add(corpus.vectors[60:61], corpus.texts[60:61], ids=[corpus.ids[60]])
    second.commit()
    first.add(corpus.vectors[61:62], corpus.texts[61:62], ids=[corpus.ids[61]])
    for change in (first.commit, first.merge):
        with pytest.raises(hi2.Locked, match="open it again"):
            change()
    second.add(corpus.vectors[62:63], corpus.texts[62:63], ids=[corpus.ids[62]])
    second.commit()
    second.verify()
    second.close()
    first.close()
    assert hi2.HybridIndex.open(tmp_path / "a").ids() == [*corpus.ids[:61], corpus.ids[62]]


def test_a_manifest_that_another_program_replaced_is_not_overwritten(small, corpus, tmp_path):
    """The lock is held, but somebody restored a copy of the folder's files over it."""
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        for id in corpus.ids[:2]:
            index.delete(id)
            index.commit()
        (tmp_path / "a" / "manifest.previous.json").replace(tmp_path / "a" / "manifest.json")
        before = content(tmp_path / "a")
        index.delete(corpus.ids[2])
        with pytest.raises(hi2.Locked, match="Another writer has changed"):
            index.commit()
        kept = {path: data for path, data in content(tmp_path / "a").items() if path in before}
        assert kept == before


def test_no_name_of_a_segment_is_given_twice(small, corpus, tmp_path):
    """Not even after a segment is gone, its folder removed and the index opened anew."""
    small.save(tmp_path / "a")
    by_name = {}

    def commit(index):
        index.commit()
        manifest = read_manifest(Folder.open(tmp_path / "a"))
        for data in manifest["segments"]:
            checksums = {name: entry["sha256"] for name, entry in data["files"].items()}
            assert by_name.setdefault(data["folder"], checksums) == checksums
        assert manifest["next_segment"] > max(int(name[8:]) for name in by_name)

    for step in range(12):
        with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
            index.add(corpus.vectors[60 + step : 61 + step], corpus.texts[60 + step : 61 + step], ids=[f"new{step}"])
            commit(index)
            index.delete(f"new{step}")
            commit(index)
            commit(index)  # now the previous manifest does not name it either
            assert len(list((tmp_path / "a").glob("segment-*"))) == 1
    assert len(by_name) == 13


def test_a_reader_that_pauses_while_it_opens_never_mixes_two_commits(small, corpus, tmp_path, monkeypatch):
    """It has read a manifest that names a segment; meanwhile the segment dies and others are written."""
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    writer.add(corpus.vectors[60:61], corpus.texts[60:61], ids=["first"])
    writer.commit()
    read, paused = reader.read_manifest, []

    def read_and_pause(*arguments):
        manifest = read(*arguments)
        if not paused:
            paused.append(True)
            for step, id in enumerate(["first", "second", "third"]):
                writer.delete(id)
                writer.add(
                    corpus.vectors[61 + step : 62 + step], corpus.texts[:1], ids=[["second", "third", "last"][step]]
                )
                writer.commit()
        return manifest

    monkeypatch.setattr(reader, "read_manifest", read_and_pause)
    index = hi2.HybridIndex.open(tmp_path / "a")
    index.verify()
    assert index.ids() == [*corpus.ids[:60], "last"]
    writer.close()


def test_a_commit_that_took_effect_is_not_reported_as_failed(small, corpus, tmp_path, monkeypatch):
    """The disk fails when the name of the new manifest is made durable."""
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(corpus.vectors[60:61], corpus.texts[60:61], ids=["new"])
        sync, manifest = Folder.sync, tmp_path / "a" / "manifest.json"
        before = manifest.read_bytes()

        def fail(self):
            if manifest.read_bytes() != before:
                raise OSError(5, "Input/output error")
            sync(self)

        monkeypatch.setattr(Folder, "sync", fail)
        with pytest.raises(hi2.Error, match=r"took effect.*commit again"):
            index.commit()
        monkeypatch.undo()
        assert "new" in hi2.HybridIndex.open(tmp_path / "a")
        assert index._index.stored.state is index._index.state
        index.delete("new")
        index.commit()
        index.verify()
    assert "new" not in hi2.HybridIndex.open(tmp_path / "a")


@pytest.mark.skipif(os.name == "nt", reason="links are Unix's")
def test_links_in_a_folder_lead_no_write_and_no_removal_outside(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "alive-000001.npy").write_text("precious")
    (tmp_path / "outside" / "file").write_text("precious")
    for name in ("manifest.json.new", "manifest.previous.json.new", "drift-000002.npy", "drift-000001.npy"):
        (tmp_path / "a" / name).symlink_to(tmp_path / "outside" / "file")
    for name in ("segment-000002", "segment-000077"):
        (tmp_path / "a" / name).symlink_to(tmp_path / "outside")
    (tmp_path / "a" / "segment-000001" / "alive-000002.npy").symlink_to(tmp_path / "outside" / "file")
    before = content(tmp_path / "outside")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.delete(corpus.ids[3])
        index.add(corpus.vectors[60:61], corpus.texts[60:61], ids=["new"])
        index.commit()
        index.merge()
        index.commit()
        index.verify()
    assert content(tmp_path / "outside") == before
    assert hi2.HybridIndex.open(tmp_path / "a").ids() == [*corpus.ids[:3], *corpus.ids[4:60], "new"]


@pytest.mark.skipif(os.name == "nt", reason="links are Unix's")
def test_a_previous_manifest_that_is_a_link_is_left_alone(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "outside").write_text("precious")
    (tmp_path / "a" / "manifest.previous.json").symlink_to(tmp_path / "outside")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.delete(corpus.ids[3])
        index.commit()
    assert (tmp_path / "outside").read_text() == "precious"
    assert not (tmp_path / "a" / "manifest.previous.json").is_symlink()


def test_a_commit_never_removes_what_another_thread_begins_to_write(small, corpus, tmp_path):
    """A merge makes its folder after the commit has looked at which folders are in use."""
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        writer, state = index._index.writer, index._index.state
        guard, written = writer._guard, []

        class Guard:
            """Between two steps of the garbage collection, another thread writes a segment."""

            def __enter__(self):
                return guard.__enter__()

            def __exit__(self, *error):
                guard.__exit__(*error)
                if sys._getframe(1).f_code.co_name == "_collect_garbage" and not written:
                    written.append(None)
                    written[0] = writer.write_segment(state.model, merge_live(state.model, state.snapshot.segments))

        writer._guard = Guard()
        index.delete(corpus.ids[0])
        index.commit()
        writer._guard = guard
        assert (tmp_path / "a" / writer._files[written[0]].folder / "codes.npy").exists()


def test_a_commit_of_which_nobody_knows_locks_nobody_out(small, corpus, tmp_path, monkeypatch):
    """The manifest is in place, but neither is that confirmed nor can the folder be read for a while."""
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(corpus.vectors[60:61], corpus.texts[60:61], ids=["new"])
        sync, read, broken = Folder.sync, Folder.read, []
        before = (tmp_path / "a" / "manifest.json").read_bytes()

        def fail(self):
            if (tmp_path / "a" / "manifest.json").read_bytes() != before:
                broken.append(True)
                raise OSError(5, "Input/output error")
            sync(self)

        def read_or_fail(self, name, *, limit):
            if broken:
                raise OSError(5, "Input/output error")
            return read(self, name, limit=limit)

        monkeypatch.setattr(Folder, "sync", fail)
        monkeypatch.setattr(Folder, "read", read_or_fail)
        with pytest.raises(hi2.Error, match="not known whether the commit"):
            index.commit()
        monkeypatch.undo()
        assert "new" in hi2.HybridIndex.open(tmp_path / "a")
        index.delete(corpus.ids[0])
        index.commit()
        index.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.ids() == [*corpus.ids[1:60], "new"]


def test_numbers_of_segments_continue_in_a_folder_without_a_count(tmp_path):
    """As version 1 left it; a stray folder of a higher number counts too."""
    shutil.copytree(Path(__file__).parents[1] / "compat" / "data" / "v1", tmp_path / "a")
    (tmp_path / "a" / "segment-000041").mkdir()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.delete(index.ids()[0])
        index.merge()
        index.commit()
    assert [data["folder"] for data in read_manifest(Folder.open(tmp_path / "a"))["segments"]] == ["segment-000042"]
