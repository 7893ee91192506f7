"""Added documents are found, keep their ids and texts, and make few segments."""

from __future__ import annotations

import pytest

import hi2
from hi2.changes import automatic_merges


def test_added_documents_are_found(small, corpus):
    small.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
    assert len(small) == 70
    for i in range(60, 70):
        assert corpus.ids[i] in small.search(corpus.vectors[i], corpus.texts[i], k=3).ids.tolist()


def test_a_deleted_id_can_be_added_again(small, corpus):
    small.delete([corpus.ids[0]])
    small.add(corpus.vectors[100:101], corpus.texts[100:101], ids=[corpus.ids[0]])
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    small.merge()
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    assert len(small) == 60


def test_integer_ids_are_assigned_automatically(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5])
    index.add(corpus.vectors[5:7], corpus.texts[5:7])
    assert index.ids() == list(range(7))
    index.add(corpus.vectors[7:8], corpus.texts[7:8], ids=[100])
    index.delete([100])
    index.add(corpus.vectors[8:9], corpus.texts[8:9])
    assert index.ids()[-1] == 101  # an id is never assigned twice
    given = hi2.HybridIndex.build(corpus.vectors[:3], corpus.texts[:3], ids=[4, 9, 2])
    given.add(corpus.vectors[3:4], corpus.texts[3:4])
    assert given.ids() == [4, 9, 2, 10]


def test_an_index_built_with_keep_text_keeps_the_texts_of_added_documents(corpus, tmp_path):
    """Even when all documents that it was built with are gone."""
    index = hi2.HybridIndex.build(corpus.vectors[:1], corpus.texts[:1], ids=["a"], keep_text=True, path=tmp_path / "a")
    index.delete("a")
    index.commit()
    index.close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(corpus.vectors[1:2], corpus.texts[1:2], ids=["b"])
        assert index.get("b")["text"] == corpus.texts[1]
        index.add(corpus.vectors[2:3], corpus.texts[2:3], ids=["c"], keep_text=False)
        assert index.get("c") == {"id": "c"}


def test_many_small_additions_give_few_segments(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:8], corpus.texts[:8], ids=corpus.ids[:8])
    for i in range(8, 300):
        index.add(corpus.vectors[i : i + 1], corpus.texts[i : i + 1], ids=[corpus.ids[i]])
    assert index.info()["n_segments"] <= 15
    index.verify()
    assert index.ids() == corpus.ids[:300]


def test_a_mostly_deleted_segment_is_rewritten(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:100], corpus.texts[:100], ids=corpus.ids[:100])
    index.delete(corpus.ids[:70])
    index.add(corpus.vectors[100:101], corpus.texts[100:101], ids=[corpus.ids[100]])
    assert index.info()["n_deleted"] == 0


def test_many_additions_are_moved_from_memory_to_disk(small, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(automatic_merges, "SEAL_DOCUMENTS", 20)
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        for i in range(60, 110, 5):
            writer.add(corpus.vectors[i : i + 5], corpus.texts[i : i + 5], ids=corpus.ids[i : i + 5])
            held = writer._index.writer.holds
            in_memory = [live for live in writer._index.state.snapshot.segments if not held(live.segment)]
            assert sum(live.n_alive for live in in_memory) < 20
        assert len(hi2.HybridIndex.open(tmp_path / "a")) == 60  # segments on disk are not yet committed
        writer.commit()
        writer.verify()
        assert writer.ids() == corpus.ids[:110]


def test_bad_additions_change_nothing(small, corpus):
    before = small._index.state
    for said, bad in [
        ("use upsert", {"ids": ["new", corpus.ids[3]]}),
        ("this index has string ids", {"ids": None}),
        ("of type str", {"ids": [1, 2]}),
        ("'ids'", {"ids": ["same", "same"]}),
    ]:
        with pytest.raises(hi2.InvalidParameter, match=said):
            small.add(corpus.vectors[60:62], corpus.texts[60:62], **bad)
        assert small._index.state is before


def test_added_documents_count_as_drift_and_the_parts_stay_as_they_are(small, corpus):
    model = small.model
    small.add(corpus.vectors[60:70], corpus.texts[60:70], ids=corpus.ids[60:70])
    assert small.model is model
    assert small.info()["drift"]["added"] == 10
