"""A reader is brought to the last commit without reading again what has not changed."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import hi2
from hi2.store import reader as store_reader


@pytest.fixture
def folder(small, tmp_path):
    small.save(tmp_path / "a")
    return tmp_path / "a"


def found(index, corpus, row):
    return index.search(corpus.vectors[row], corpus.texts[row], k=5).ids.tolist()


@pytest.mark.parametrize("mmap", [True, False])
def test_a_reader_follows_the_commits_of_a_writer(folder, corpus, mmap):
    reader = hi2.HybridIndex.open(folder, mmap=mmap)
    assert not reader.refresh()
    with hi2.HybridIndex.open(folder, "w") as writer:
        writer.add(
            corpus.vectors[60:70],
            [f"{text} zebra{i}" for i, text in enumerate(corpus.texts[60:70])],
            ids=corpus.ids[60:70],
        )
        writer.delete(corpus.ids[:3])
        assert not reader.refresh()  # nothing is committed
        writer.commit()
        assert (len(reader), reader.refresh(), len(reader)) == (60, True, 67)
        assert reader.search(None, "zebra4", k=2).ids.tolist() == [corpus.ids[64]]
        writer.update(corpus.ids[5], payload={"year": 3})
        writer.upsert(corpus.vectors[:1], ["another zebra77"], ids=[corpus.ids[9]])
        writer.commit()
        writer.merge()
        writer.commit()
        assert reader.refresh()
        assert reader.ids() == writer.ids()
        for row in range(0, 70, 7):
            assert found(reader, corpus, row) == found(writer, corpus, row)
        assert reader.search(None, "zebra77", k=2).ids.tolist() == [corpus.ids[9]]
    reader.verify()
    assert found(reader, corpus, 30) == found(hi2.HybridIndex.open(folder), corpus, 30)


def test_only_what_has_changed_is_read(folder, corpus, monkeypatch):
    reader = hi2.HybridIndex.open(folder)
    before = reader._index.state
    opened = []
    original = store_reader.OpenArray
    monkeypatch.setattr(
        store_reader,
        "OpenArray",
        lambda own, name, entry: opened.append((own.path.name, name)) or original(own, name, entry),
    )
    with hi2.HybridIndex.open(folder, "w") as writer:
        writer.add(corpus.vectors[60:61], corpus.texts[60:61], ids=corpus.ids[60:61])
        writer.delete(corpus.ids[0])
        writer.commit()
    opened.clear()
    assert reader.refresh()
    after = reader._index.state
    assert after.model is before.model
    assert after.snapshot.segments[0].segment is before.snapshot.segments[0].segment
    folders = {own for own, name in opened if not name.startswith("alive-")}
    assert "model" not in folders
    assert "segment-000001" not in folders


def test_hits_stay_those_of_their_commit(folder, corpus):
    reader = hi2.HybridIndex.open(folder)
    hits = reader.search(corpus.vectors[3], corpus.texts[3], k=3)
    with hi2.HybridIndex.open(folder, "w") as writer:
        writer.delete(hits.ids.tolist())
        writer.commit()
    assert reader.refresh()
    assert hits[0].text is not None
    assert hits.ids[0] not in reader


def test_a_reader_refreshes_itself_when_its_time_has_come(folder, corpus):
    with hi2.HybridIndex.open(folder, refresh=0.05) as reader, hi2.HybridIndex.open(folder, refresh=1000) as patient:
        with hi2.HybridIndex.open(folder, "w") as writer:
            writer.delete(corpus.ids[0])
            writer.commit()
        time.sleep(0.06)
        assert corpus.ids[0] not in reader.search(corpus.vectors[0], corpus.texts[0], k=60).ids.tolist()
        assert (len(reader), len(patient)) == (59, 60)
    with pytest.raises(hi2.InvalidParameter, match="'refresh'"):
        hi2.HybridIndex.open(folder, refresh=-1)
    with pytest.raises(hi2.InvalidParameter, match=r"'refresh'.*writer"):
        hi2.HybridIndex.open(folder, "w", refresh=1)


def test_a_reader_follows_an_index_that_took_the_place_of_its_own(folder, corpus):
    reader = hi2.HybridIndex.open(folder)
    other = hi2.HybridIndex.build(corpus.vectors[:7], corpus.texts[:7], ids=corpus.ids[:7])
    other.save(folder, overwrite=True)
    assert (len(reader), reader.refresh(), len(reader)) == (60, True, 7)
    assert found(reader, corpus, 3) == found(other, corpus, 3)


def test_an_index_in_memory_and_a_writer_are_where_they_are(small, folder):
    assert not small.refresh()
    with hi2.HybridIndex.open(folder, "w") as writer:
        assert not writer.refresh()


def test_searches_go_on_while_readers_refresh(folder, corpus):
    reader, stop, failures = hi2.HybridIndex.open(folder, refresh=0.0), threading.Event(), []

    def search():
        while not stop.is_set():
            try:
                hits = reader.search(corpus.vectors[1], corpus.texts[1], k=5)
                assert len(hits.to_dicts()) == 5
            except Exception as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    with hi2.HybridIndex.open(folder, "w") as writer:
        for i in range(30):
            writer.upsert(corpus.vectors[i : i + 1], [f"{corpus.texts[i]} new{i}"], ids=[corpus.ids[i]])
            writer.commit()
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert reader.search(None, "new29", k=1).ids.tolist() == [corpus.ids[29]]
    np.testing.assert_equal(len(reader), 60)


def test_a_reader_that_cannot_look_goes_on_with_what_it_has(folder, corpus, caplog):
    reader = hi2.HybridIndex.open(folder, refresh=0.0)
    folder.rename(folder.with_name("moved"))
    assert len(reader.search(corpus.vectors[0], corpus.texts[0], k=3)) == 3
    assert "could not be read" in caplog.text
    with pytest.raises(hi2.NotFound):
        reader.refresh()


def test_threads_that_refresh_at_once_do_not_disturb_each_other(folder, corpus):
    reader, failures = hi2.HybridIndex.open(folder), []

    def refresh():
        try:
            for _ in range(40):
                reader.refresh()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=refresh) for _ in range(4)]
    with hi2.HybridIndex.open(folder, "w") as writer:
        for thread in threads:
            thread.start()
        for i in range(15):
            writer.add(corpus.vectors[i : i + 1], [f"fresh{i} words{i}"], ids=[f"new-{i}"])
            writer.commit()
        for thread in threads:
            thread.join()
    assert failures == []
    reader.refresh()
    assert reader.search(None, "fresh14", k=1).ids.tolist() == ["new-14"]
