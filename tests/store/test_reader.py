"""A reader opens one committed state and keeps it, whatever is committed meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.store import reader as opening
from hi2.store.folder import Folder


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
    for path in (tmp_path / "a").rglob("*.npy"):
        path.write_bytes(bytes(path.stat().st_size))  # a map would show the zeros
    found = read.search(corpus.query_vectors, corpus.query_texts)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_a_state_reads_back_as_it_was_saved(small, corpus, tmp_path):
    small.delete(corpus.ids[:7])
    small.add(corpus.vectors[60:63], corpus.texts[60:63], ids=corpus.ids[60:63])
    small.save(tmp_path / "a")
    saved, state = small._index.state, opening.read_index(Folder.open(tmp_path / "a")).state
    assert state.snapshot.ids() == saved.snapshot.ids()
    assert (state.next_id, state.keep_text) == (saved.next_id, saved.keep_text)
    assert state.added.report(state.model) == saved.added.report(saved.model)
    assert state.model.fingerprint == saved.model.fingerprint
