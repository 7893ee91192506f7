"""Merges that happen by themselves rewrite little, and never undo the change that they follow."""

from __future__ import annotations

import logging
import math
import threading

import numpy as np
import pytest

import hi2
from hi2.changes import automatic_merges
from hi2.changes import commit as committing
from hi2.changes import merge as merging


@pytest.fixture
def rewritten(monkeypatch):
    """Count the documents of every merge and of every segment that a commit writes."""
    counts: list[int] = []
    for module in (merging, committing):
        merge = module.merge_live

        def count(model, segments, *rest, merge=merge):
            counts.append(sum(live.n_alive for live in segments))
            return merge(model, segments, *rest)

        monkeypatch.setattr(module, "merge_live", count)
    return counts


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32)


def test_single_documents_after_a_large_build_rewrite_little(rewritten):
    index = hi2.HybridIndex.build(vectors(3000), terms=None, clusters=hi2.KMeans(4))
    for i in range(64):
        index.add(vectors(1, i))
    assert max(rewritten) < 3000
    assert 0 < sum(rewritten) <= 64 * math.log2(64)
    assert len(index) == 3064


def test_the_documents_rewritten_stay_below_twice_log_n_each(rewritten, tmp_path):
    """Adds, deletes and commits at random, on disk."""
    rng = np.random.default_rng(0)
    added = deleted = 40
    deleted = 0
    with hi2.HybridIndex.build(vectors(40), terms=None, clusters=hi2.KMeans(4), path=tmp_path / "a") as index:
        for step in range(150):
            n = int(rng.integers(1, 4)) if step % 10 else 30
            index.add(vectors(n, step))
            added += n
            if rng.random() < 0.4:
                gone = rng.choice(index.ids(), int(rng.integers(1, max(2, len(index) // 4))), replace=False)
                deleted += index.delete(gone.tolist())
            if rng.random() < 0.3:
                index.commit()
            assert sum(rewritten) <= 2 * math.log2(added) * (added + deleted)
        index.commit()
        index.verify()
        assert len(index) == added - deleted
    assert sum(rewritten) > added / 2  # merges did happen


def test_an_add_goes_on_while_another_add_merges(corpus, monkeypatch):
    waits, go_on = threading.Event(), threading.Event()
    merge = merging.merge_live

    def merge_and_wait(*arguments):
        waits.set()
        assert go_on.wait(30)
        return merge(*arguments)

    monkeypatch.setattr(merging, "merge_live", merge_and_wait)
    index = hi2.HybridIndex.build(corpus.vectors[:10], corpus.texts[:10])
    first = threading.Thread(target=index.add, args=(corpus.vectors[10:60], corpus.texts[10:60]))
    first.start()  # five times what there was: it merges
    assert waits.wait(30)
    for i in range(60, 70):
        index.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1])
    assert len(index) == 70
    go_on.set()
    first.join()
    assert index.ids() == list(range(70))
    index.verify()


def test_a_merge_that_fails_is_put_off_until_the_next_commit(small, corpus, tmp_path, monkeypatch, caplog):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        write = index._index.writer.write_segment

        def fail(*arguments):
            raise OSError("no space left")

        monkeypatch.setattr(automatic_merges, "SEAL_DOCUMENTS", 5)
        monkeypatch.setattr(index._index.writer, "write_segment", fail)
        with caplog.at_level(logging.WARNING, "hi2"):
            index.add(corpus.vectors[60:66], corpus.texts[60:66], ids=corpus.ids[60:66])
            index.add(corpus.vectors[66:67], corpus.texts[66:67], ids=corpus.ids[66:67])
        assert [record.message for record in caplog.records] == [
            "A merge was put off until the next commit: no space left"
        ]
        assert index.ids() == corpus.ids[:67]
        monkeypatch.setattr(index._index.writer, "write_segment", write)
        index.commit()
        index.verify()
    assert hi2.HybridIndex.open(tmp_path / "a").ids() == corpus.ids[:67]


def test_an_index_in_memory_merges_again_after_a_merge_failed(monkeypatch, caplog):
    index = hi2.HybridIndex.build(vectors(4), terms=None, clusters=hi2.KMeans(2))
    merge = merging.merge_live

    def fail(*arguments):
        raise MemoryError("no memory")

    monkeypatch.setattr(merging, "merge_live", fail)
    with caplog.at_level(logging.WARNING, "hi2"):
        for i in range(20):
            index.add(vectors(1, i))
    assert caplog.records
    assert len(index) == 24
    monkeypatch.setattr(merging, "merge_live", merge)
    for i in range(20):
        index.add(vectors(1, i))
    assert index.info()["n_segments"] < 10
    assert len(index) == 44


def test_a_merge_that_cannot_be_committed_does_not_fail_the_commit(small, corpus, tmp_path, monkeypatch, caplog):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        commit, calls = index._index.writer.commit, []

        def fail_the_second(state):
            calls.append(True)
            if len(calls) == 2:
                raise OSError("no space left")
            return commit(state)

        monkeypatch.setattr(index._index.writer, "commit", fail_the_second)
        index.delete(corpus.ids[:40])
        with caplog.at_level(logging.WARNING, "hi2"):
            index.commit()
        assert "will be durable with the next commit" in caplog.text
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 20
        monkeypatch.undo()
        index.commit()
        index.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.info()["n_deleted"] == 0
