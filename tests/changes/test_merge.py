"""A merge changes no answer, and keeps nobody waiting."""

from __future__ import annotations

import threading

import pytest

import hi2
from hi2.changes import merge as merging
from hi2.changes.merge import merge_segments
from hi2.progress import Progress


def test_a_merge_keeps_the_refine_codes(corpus):
    parts = {"codec": hi2.PQ(5), "refine": hi2.Flat(), "clusters": hi2.KMeans(20)}
    index = hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200], ids=corpus.ids[:200], **parts)
    index.add(corpus.vectors[200:300], corpus.texts[200:300], ids=corpus.ids[200:300])
    index.delete(corpus.ids[50:60])
    before = index.search(corpus.query_vectors, corpus.query_texts, k=20)
    index.merge()
    after = index.search(corpus.query_vectors, corpus.query_texts, k=20)
    assert (before.ids == after.ids).all()
    assert (before.scores == after.scores).all()
    position = {id: i for i, id in enumerate(corpus.ids)}
    exact = corpus.vectors[position[after.ids[0, 0]]] @ corpus.query_vectors[0]
    assert after.dense[0, 0] == pytest.approx(exact, abs=1e-5)


def test_a_merge_drops_the_deleted_and_keeps_the_order(small, corpus):
    small.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
    small.delete(corpus.ids[5:65])
    small.merge()
    assert small.ids() == [*corpus.ids[:5], *corpus.ids[65:70]]
    assert (small.info()["n_segments"], small.info()["n_deleted"]) == (1, 0)
    small.verify()


def test_a_merge_of_one_whole_segment_does_nothing(small):
    before = small._index.state
    small.merge()
    assert small._index.state is before


def test_a_merge_of_nothing_but_deleted_documents_leaves_no_segment(small):
    small.delete(small.ids())
    small.merge()
    assert small.info()["n_segments"] == 0


def test_some_segments_are_merged_and_the_others_stay(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:40], corpus.texts[:40])
    for begin, end in ((40, 60), (60, 70)):
        index.add(corpus.vectors[begin:end], corpus.texts[begin:end])
    before = index._index.state.snapshot
    with index._index.merging:
        assert merge_segments(index._index, before.segments[1:], None, Progress(False))
    after = index._index.state.snapshot
    assert len(before.segments) == 3
    assert len(after.segments) == 2
    assert after.segments[0] is before.segments[0]
    assert after.ids() == before.ids()


@pytest.fixture
def paused(monkeypatch):
    """Make every merge wait, with its segment written, until the test says go on."""
    waits, go_on = threading.Event(), threading.Event()
    merge = merging.merge_live

    def merge_and_wait(*arguments):
        write = merge(*arguments)

        def write_and_wait(sink):
            meta = write(sink)
            waits.set()
            assert go_on.wait(30)
            return meta

        return write_and_wait

    monkeypatch.setattr(merging, "merge_live", merge_and_wait)
    return waits, go_on


@pytest.mark.parametrize("on_disk", [False, True])
def test_changes_go_on_while_a_merge_is_under_way(corpus, tmp_path, paused, on_disk):
    waits, go_on = paused
    path = tmp_path / "a" if on_disk else None
    index = hi2.HybridIndex.build(
        corpus.vectors[:60], corpus.texts[:60], ids=corpus.ids[:60], keep_text=True, path=path
    )
    index.add(corpus.vectors[60:90], corpus.texts[60:90], ids=corpus.ids[60:90])
    thread = threading.Thread(target=index.merge)
    thread.start()
    assert waits.wait(30)
    index.add(corpus.vectors[90:95], corpus.texts[90:95], ids=corpus.ids[90:95])
    index.delete([corpus.ids[3], corpus.ids[70], corpus.ids[91]])
    index.upsert(corpus.vectors[100:101], corpus.texts[100:101], ids=[corpus.ids[7]])
    kept = [id for i, id in enumerate(corpus.ids[:95]) if i not in (3, 7, 70, 91)] + [corpus.ids[7]]
    assert index.ids() == kept
    assert corpus.ids[92] in index.search(corpus.vectors[92], corpus.texts[92], k=3).ids.tolist()
    go_on.set()
    thread.join()
    assert index.ids() == kept
    assert index.get(corpus.ids[7])["text"] == corpus.texts[100]
    assert index._index.state.snapshot.segments[0].segment.n_docs == 90
    index.verify()
    if on_disk:
        index.commit()
        index.close()
        again = hi2.HybridIndex.open(path)
        again.verify()
        assert again.ids() == kept


def test_a_commit_while_a_merge_is_under_way_keeps_everything(corpus, tmp_path, paused):
    """The commit writes the segments that are being merged; the merge begins again with what is there then."""
    waits, go_on = paused
    with hi2.HybridIndex.build(
        corpus.vectors[:60], corpus.texts[:60], ids=corpus.ids[:60], path=tmp_path / "a"
    ) as index:
        index.add(corpus.vectors[60:90], corpus.texts[60:90], ids=corpus.ids[60:90])
        thread = threading.Thread(target=index.merge)
        thread.start()
        assert waits.wait(30)
        index.delete(corpus.ids[4])
        index.commit()
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 89
        go_on.set()
        thread.join()
        assert index.info()["n_segments"] == 1
        index.commit()
        index.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.ids() == corpus.ids[:4] + corpus.ids[5:90]
    assert len(list((tmp_path / "a").glob("segment-*"))) <= 3


def test_closing_waits_for_a_merge(corpus, tmp_path, paused):
    waits, go_on = paused
    index = hi2.HybridIndex.build(corpus.vectors[:60], corpus.texts[:60], path=tmp_path / "a")
    index.add(corpus.vectors[60:90], corpus.texts[60:90])
    merges = threading.Thread(target=index.merge)
    merges.start()
    assert waits.wait(30)
    closes = threading.Thread(target=index.close)
    closes.start()
    with pytest.raises(hi2.Locked):
        hi2.HybridIndex.open(tmp_path / "a", "w")
    go_on.set()
    merges.join()
    closes.join()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as again:
        assert len(again) == 60
        again.verify()
