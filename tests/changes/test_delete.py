"""Deleted documents are neither found nor scored, and an index may lose all of them."""

from __future__ import annotations

import pytest

import hi2


def test_deleted_documents_are_gone_and_are_not_scored(small, corpus):
    before = small.search(corpus.vectors[5], corpus.texts[5], k=60, clusters=100)
    assert small.delete([corpus.ids[5], corpus.ids[6]]) == 2
    after = small.search(corpus.vectors[5], corpus.texts[5], k=60, clusters=100)
    assert after.n_scored == before.n_scored - 2
    assert corpus.ids[5] not in after.ids.tolist()
    assert corpus.ids[5] not in small
    assert len(small) == 58


def test_delete_takes_one_id_or_several_and_rejects_unknown_ones(small, corpus):
    assert small.delete(corpus.ids[0]) == 1
    with pytest.raises(hi2.InvalidParameter, match=r"'ids'.*missing_ok"):
        small.delete([corpus.ids[1], "nobody"])
    assert corpus.ids[1] in small  # nothing was deleted
    assert small.delete([corpus.ids[1], "nobody"], missing_ok=True) == 1


def test_an_index_without_documents_can_be_searched_and_added_to(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(writer.ids())
        writer.commit()
        assert len(writer) == 0
        assert writer.search(corpus.vectors[0], corpus.texts[0]).ids.tolist() == []
        assert writer.search(corpus.vectors[:2], corpus.texts[:2], k=3).counts.tolist() == [0, 0]
        empty = hi2.HybridIndex.open(tmp_path / "a")
        empty.verify()
        assert len(empty) == 0
        writer.add(corpus.vectors[:2], corpus.texts[:2], ids=["a", "b"])
        writer.commit()
    assert hi2.HybridIndex.open(tmp_path / "a").ids() == ["a", "b"]


def test_an_id_given_twice_is_deleted_once(small, corpus):
    assert small.delete([corpus.ids[0], corpus.ids[1], corpus.ids[0]]) == 2
    assert len(small) == 58


def test_deleting_nothing_keeps_the_state(small):
    before = small._index.state
    assert small.delete([]) == 0
    assert small.delete("nobody", missing_ok=True) == 0
    assert small._index.state is before


def test_a_search_in_progress_keeps_what_it_saw(small, corpus):
    state = small._index.state
    small.delete(small.ids())
    assert state.snapshot.ids() == corpus.ids[:60]
