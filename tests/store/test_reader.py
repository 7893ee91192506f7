"""A reader opens one committed state and keeps it, whatever is committed meanwhile."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import hi2
from hi2.store import arrays
from hi2.store import reader as opening
from hi2.store.folder import Folder
from hi2.store.manifest import serialise


def test_opening_does_not_load_the_tokenizer(corpus, tmp_path):
    """Only the tokenizer takes time to load, so it is not loaded until a text needs it."""
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids).save(tmp_path / "a")
    index = hi2.HybridIndex.open(tmp_path / "a")
    assert "_parsed" not in vars(index.model.terms.tokenizer)
    index.search(corpus.query_vectors[0])
    assert "_parsed" not in vars(index.model.terms.tokenizer)
    index.search(corpus.query_vectors[0], corpus.query_texts[0])
    assert "_parsed" in vars(index.model.terms.tokenizer)


@pytest.mark.parametrize(("commits", "attempts"), [(1, 1), (2, 10)])
def test_a_commit_while_a_reader_opens_does_no_harm(small, corpus, tmp_path, monkeypatch, commits, attempts):
    """One commit between reading the manifest and opening its files does no harm. After two, the reader tries again."""
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    read, overtaken = opening.read_manifest, []

    def read_and_be_overtaken(folder, *name):
        manifest = read(folder, *name)
        if not overtaken:
            overtaken.append(True)
            for i in range(commits):
                writer.delete(corpus.ids[i])
                writer.merge()
                writer.commit()
        return manifest

    monkeypatch.setattr(opening, "_MAX_ATTEMPTS", attempts)
    monkeypatch.setattr(opening, "read_manifest", read_and_be_overtaken)
    reader = hi2.HybridIndex.open(tmp_path / "a")
    assert len(reader) == (60 if commits == 1 else 58)
    reader.verify()
    writer.close()


def test_a_reader_keeps_its_snapshot_through_merges_and_file_removal(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    expected = reader.search(corpus.query_vectors, corpus.query_texts, k=20)
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        for step in range(4):
            writer.delete(corpus.ids[step])
            writer.merge()
            writer.commit()
    again = reader.search(corpus.query_vectors, corpus.query_texts, k=20)
    assert (again.ids == expected.ids).all()
    reader.verify()  # its files were removed from the folder, but are still mapped
    assert reader.get(corpus.ids[0])["text"] == corpus.texts[0]
    assert len(list((tmp_path / "a").glob("segment-*"))) <= 2  # those of the current and of the previous manifest


def test_a_missing_file_is_named(small, tmp_path):
    small.save(tmp_path / "a")
    (codes,) = (tmp_path / "a").rglob("codes.npy")
    codes.unlink()
    with pytest.raises(hi2.FormatError, match=r"codes\.npy is missing"):
        opening.read_index(Folder.open(tmp_path / "a"))


def test_an_index_that_is_read_into_memory_does_not_need_its_files(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    mapped, read = (hi2.HybridIndex.open(tmp_path / "a", mmap=mmap) for mmap in (True, False))
    expected = mapped.search(corpus.query_vectors, corpus.query_texts)
    del mapped
    for size in (1.0, 0.5, 0.0):  # a map would show zeros, or end the process
        for path in (tmp_path / "a").rglob("*.*"):
            path.write_bytes(bytes(int(path.stat().st_size * size)))
        found = read.search(corpus.query_vectors, corpus.query_texts)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert len(read.texts()) == len(read) == 60


def test_a_state_reads_back_as_it_was_saved(small, corpus, tmp_path):
    small.delete(corpus.ids[:7])
    small.add(corpus.vectors[60:63], corpus.texts[60:63], ids=corpus.ids[60:63])
    small.save(tmp_path / "a")
    saved, state = small._index.state, opening.read_index(Folder.open(tmp_path / "a")).state
    assert state.snapshot.ids() == saved.snapshot.ids()
    assert (state.next_id, state.keep_text) == (saved.next_id, saved.keep_text)
    assert state.added.report(state.model) == saved.added.report(saved.model)
    assert state.model.fingerprint == saved.model.fingerprint


def rewrite(folder, change):
    """Change a manifest and correct its checksum."""
    content = json.loads((folder / "manifest.json").read_text())
    change(content)
    (folder / "manifest.json").write_bytes(serialise(content))


@pytest.mark.parametrize("name", ["next_id", "n_docs", "generation", "next_segment"])
@pytest.mark.parametrize("value", [-1, 1.5, 3.0, True, None, "3", [3], 2**64])
def test_counts_that_are_none_are_refused(small, tmp_path, name, value):
    small.save(tmp_path / "a")
    rewrite(tmp_path / "a", lambda content: content.update({name: value}))
    with pytest.raises(hi2.FormatError, match=r"manifest\.json"):
        hi2.HybridIndex.open(tmp_path / "a")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(keep_text="yes"),
        lambda content: content.update(generation=2**63),
        lambda content: content.update(next_segment=2**63),
        lambda content: content["segments"].append(content["segments"][0]),
        lambda content: content.update(segments={"a": 1}),
        lambda content: content.update(model=[]),
        lambda content: content.update(drift={"n_docs": 1e300, "n_tokens": 0, "df": None}),
        lambda content: content.update(profiles=3),
        lambda content: content["segments"][0].update(numbers={"n_docs": 10**12, "ids": "str"}),
        lambda content: content["segments"][0]["numbers"].update(n_docs=4_000_000_000),
        lambda content: content["segments"][0]["numbers"].update(n_docs=60.0),
        lambda content: content["segments"][0].update(folder=["segment-000001"]),
        lambda content: content["model"]["parts"].update(dim=2**62),
        lambda content: content["model"]["parts"]["terms"].update(n_terms=2**31),
    ],
)
def test_a_manifest_of_wrong_types_or_sizes_is_refused(small, tmp_path, change):
    small.save(tmp_path / "a")
    rewrite(tmp_path / "a", change)
    for mode in ("r", "w"):
        with pytest.raises(hi2.FormatError):
            hi2.HybridIndex.open(tmp_path / "a", mode)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are Unix's")
@pytest.mark.parametrize(
    "name", ["manifest.json", "segment-000001/codes.npy", "model/tokenizer.json", "segment-000001"]
)
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_or_a_pipe_is_refused_by_open_and_by_verify(small, tmp_path, name, kind):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    path = tmp_path / "a" / name
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside") if kind == "link" else os.mkfifo(path)
    with pytest.raises(hi2.FormatError, match="a link, a pipe or a device"):
        hi2.HybridIndex.open(tmp_path / "a")
    with pytest.raises(hi2.FormatError, match="a link, a pipe or a device"):
        reader.verify()


def test_a_folder_may_be_opened_by_a_link_to_it(small, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "latest").symlink_to("a")
    with hi2.HybridIndex.open(tmp_path / "latest", "w") as index:
        index.delete(index.ids()[0])
        index.commit()
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 59


@pytest.mark.parametrize("mmap", [True, False])
def test_files_that_a_commit_removes_while_others_are_read_do_no_harm(small, corpus, tmp_path, monkeypatch, mmap):
    """Reading takes long, and the writer commits all the while: every file is open before the first is read."""
    small.delete(corpus.ids[0])
    small.save(tmp_path / "a")
    writer = hi2.HybridIndex.open(tmp_path / "a", "w")
    monkeypatch.setattr(opening, "_SMALL", 0)
    monkeypatch.setattr(opening, "_MAX_ATTEMPTS", 1)
    read, commits = arrays.OpenArray.read, []

    def read_slowly(self):
        if len(commits) < 4:
            commits.append(True)
            writer.delete(corpus.ids[len(commits)])
            writer.merge()
            writer.commit()
        return read(self)

    monkeypatch.setattr(arrays.OpenArray, "read", read_slowly)
    reader = hi2.HybridIndex.open(tmp_path / "a", mmap=mmap)
    assert len(commits) == (0 if mmap else 4)
    assert len(reader) == 59
    reader.verify()
    writer.close()


def test_a_writer_without_maps_does_not_need_the_files_it_writes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w", mmap=False) as index:
        index.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
        index.commit()
        index.merge()
        expected = index.search(corpus.query_vectors, corpus.query_texts)
        for path in (tmp_path / "a").rglob("*.*"):
            path.write_bytes(b"")
        found = index.search(corpus.query_vectors, corpus.query_texts)
        np.testing.assert_array_equal(found.ids, expected.ids)
