"""A reader and a closed writer can be searched but not changed."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest

import hi2
from forked import held_by_another_thread, in_child


def test_a_closed_writer_rejects_changes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    closed = hi2.HybridIndex.open(tmp_path / "a", "w")
    closed.close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        writer.commit()
        for change in (lambda: closed.delete(corpus.ids[1]), closed.commit, closed.merge):
            with pytest.raises(hi2.Error, match="closed"):
                change()
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 59
    assert len(closed.search(corpus.vectors[0], k=3)) == 3  # a closed index can still be searched


def test_a_reader_rejects_changes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    for change in (
        lambda: reader.delete(corpus.ids[0]),
        lambda: reader.add(corpus.vectors[:1], corpus.texts[:1], ids=["x"]),
        lambda: reader.upsert(corpus.vectors[:1], corpus.texts[:1], ids=["x"]),
        reader.merge,
        reader.commit,
    ):
        with pytest.raises(hi2.ReadOnly, match="mode='w'"):
            change()


def test_a_folder_that_cannot_be_opened_keeps_no_lock(small, tmp_path):
    (tmp_path / "no index").mkdir()
    with pytest.raises(hi2.FormatError, match="not a hi2 index"):
        hi2.HybridIndex.open(tmp_path / "no index", "w")
    assert list((tmp_path / "no index").iterdir()) == []
    small.save(tmp_path / "a")
    with pytest.raises(hi2.InvalidParameter, match="'mode'"):
        hi2.HybridIndex.open(tmp_path / "a", "a")
    with pytest.raises(hi2.InvalidParameter, match="dimension"):
        hi2.HybridIndex.open(tmp_path / "a", "w", encoder=lambda texts: np.ones((len(texts), 3)))
    hi2.HybridIndex.open(tmp_path / "a", "w").close()


def test_the_encoder_of_an_index_is_loaded_when_it_is_needed(corpus, tmp_path):
    texts = corpus.texts[:20]
    hi2.HybridIndex.build(texts=texts, encoder=hi2.StaticEncoder(), path=tmp_path / "a").close()
    index = hi2.HybridIndex.open(tmp_path / "a")
    assert index._index.given_encoder is None
    assert index.search(texts[3], k=1).ids.tolist() == [3]
    assert index._index.given_encoder is index.encoder
    with pytest.raises(hi2.InvalidParameter, match="'encoder'"):
        hi2.HybridIndex.open(tmp_path / "a", encoder=lambda texts: np.ones((len(texts), 256)))


def test_changes_from_several_threads_are_all_made(small, corpus):
    def add(begin):
        for i in range(begin, begin + 5):
            small.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1], ids=[corpus.ids[i]])

    threads = [threading.Thread(target=add, args=(begin,)) for begin in (60, 65, 70, 75)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(small.ids()) == sorted(corpus.ids[:80])
    small.verify()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_can_change_its_copy_while_another_thread_of_its_parent_changes_the_index(small, corpus):
    def change():
        small.delete(corpus.ids[0])
        small.add(corpus.vectors[:1], corpus.texts[:1], ids=["again"])
        assert small.get(["again"])[0]["text"] == corpus.texts[0]

    with held_by_another_thread(small._index.changing()):
        assert in_child(change) == 0
    with small._index.changing():  # the thread that forks is inside a change itself
        assert in_child(change) == 0
    assert small.get(corpus.ids[:1])[0]["text"] == corpus.texts[0]


def test_a_path_without_an_index_is_a_missing_file_too(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a hi2 index: there is no such folder") as raised:
        hi2.HybridIndex.open(tmp_path / "nowhere")
    assert isinstance(raised.value, hi2.NotFound)
    assert isinstance(raised.value, hi2.Error)
    assert str(tmp_path / "nowhere") in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args
    (tmp_path / "file").write_text("x")
    with pytest.raises(hi2.FormatError, match="it is a file") as raised:
        hi2.HybridIndex.open(tmp_path / "file")
    assert not isinstance(raised.value, FileNotFoundError)


def test_an_opened_index_is_pickled_by_its_path(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    for mode, mmap in (("r", True), ("r", False), ("w", True)):
        with hi2.HybridIndex.open(tmp_path / "a", mode, mmap=mmap) as opened:
            again = pickle.loads(pickle.dumps(opened))
            assert again._index.mmap == mmap
            found = again.search(corpus.vectors[3], corpus.texts[3], k=5)
            assert found.ids.tolist() == opened.search(corpus.vectors[3], corpus.texts[3], k=5).ids.tolist()
            with pytest.raises(hi2.ReadOnly):
                again.delete(corpus.ids[0])


def test_an_index_that_refreshes_itself_still_does_when_it_is_unpickled(small, tmp_path):
    small.save(tmp_path / "a")
    copied = pickle.loads(pickle.dumps(hi2.HybridIndex.open(tmp_path / "a", refresh=0.0)))
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(writer.ids()[0])
        writer.commit()
    assert len(copied) == 59


def test_an_index_with_an_encoder_is_pickled_with_it(tmp_path):
    encoder = hi2.StaticEncoder()
    hi2.HybridIndex.build(texts=["red apple", "green pear"], encoder=encoder, path=tmp_path / "a").close()
    again = pickle.loads(pickle.dumps(hi2.HybridIndex.open(tmp_path / "a", encoder=encoder)))
    assert again.search("pears", k=1).ids.tolist() == [1]
    copied = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(copied(["red apple"]), encoder(["red apple"]))


def test_what_is_not_on_disk_is_not_pickled(small, corpus, tmp_path):
    with pytest.raises(hi2.Error, match=r"save\(path\)"):
        pickle.dumps(small)
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        with pytest.raises(hi2.Error, match=r"commit\(\)"):
            pickle.dumps(writer)
        writer.commit()
        assert len(pickle.loads(pickle.dumps(writer))) == 59
