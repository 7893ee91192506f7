"""A commit makes changes durable at once, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

import hi2


def test_commit_makes_changes_visible_to_new_readers_only(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.add(corpus.vectors[60:80], corpus.texts[60:80], ids=corpus.ids[60:80])
        writer.delete(corpus.ids[:10])
        assert len(writer) == 70
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 60
        writer.commit()
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 70
    assert len(reader) == 60
    hits = reader.search(corpus.vectors[0], corpus.texts[0], k=3)
    assert corpus.ids[0] in hits.ids.tolist()
    reader.verify()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.ids() == corpus.ids[10:80]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not list its maps")
def test_a_commit_keeps_one_map_of_every_file(corpus, tmp_path):
    """Nothing that was written is read back."""
    with hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a") as index:
        index.add(corpus.vectors[50:60], corpus.texts[50:60])
        index.commit()
        lines = Path("/proc/self/maps").read_text().splitlines()
        mapped = [line.split()[-1] for line in lines if str(tmp_path) in line]
        assert mapped
        assert len(mapped) == len(set(mapped))
        index.verify()
        assert index.info()["generation"] == 2


def test_uncommitted_changes_are_dropped(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        writer.merge()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        assert len(writer) == 60
        writer.verify()
        writer.commit()
    assert len(list((tmp_path / "a").glob("segment-*"))) == 1  # segments that were never committed are removed


def test_a_commit_after_a_merge_keeps_everything(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        for i in range(60, 75):
            writer.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1], ids=[corpus.ids[i]])
            if i % 3 == 0:
                writer.commit()
        writer.merge()
        writer.commit()
        writer.verify()
        assert writer.ids() == corpus.ids[:75]
        assert writer.info()["n_segments"] == 1


def test_an_index_whose_documents_are_all_deleted_can_be_saved(small, corpus, tmp_path):
    small.delete(small.ids())
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as empty:
        assert len(empty) == 0
        empty.add(corpus.vectors[:1], corpus.texts[:1], ids=["a"])
        assert empty.search(corpus.vectors[0], corpus.texts[0]).ids.tolist() == ["a"]


def test_an_index_in_memory_cannot_be_committed(small):
    with pytest.raises(hi2.Error, match="save"):
        small.commit()


def test_a_saved_copy_does_not_follow_its_original(small, corpus, tmp_path):
    small.add(corpus.vectors[60:61], corpus.texts[60:61], ids=["new"])
    small.delete(corpus.ids[:2])
    small.save(tmp_path / "a")
    expected = small.ids()
    small.delete(small.ids())
    copy = hi2.HybridIndex.open(tmp_path / "a")
    copy.verify()
    assert copy.ids() == expected


def test_a_commit_writes_the_segments_in_memory_as_one(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        for i in (60, 61, 62):
            index.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1], ids=[corpus.ids[i]])
        index.commit()
        assert index.info()["n_segments"] <= 2
        assert index._index.stored.state is index._index.state
        assert all(index._index.writer.holds(live.segment) for live in index._index.state.snapshot.segments)
