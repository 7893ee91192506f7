"""An upsert replaces documents and adds others in one change."""

from __future__ import annotations

import pytest

import hi2


def test_upsert_replaces_and_adds_in_one_change(small, corpus):
    small.upsert(corpus.vectors[100:102], corpus.texts[100:102], ids=[corpus.ids[0], "new"], keep_text=True)
    assert len(small) == 61
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    assert corpus.ids[0] in small.search(corpus.vectors[100], corpus.texts[100], k=2).ids.tolist()


def test_an_upsert_needs_ids_and_a_bad_one_changes_nothing(small, corpus):
    before = small._index.state
    for said, texts, ids in [
        ("they say what is replaced", corpus.texts[:1], None),
        ("'texts'", corpus.texts[:2], [corpus.ids[0]]),
        ("of type str", corpus.texts[:1], [3]),
    ]:
        with pytest.raises(hi2.InvalidParameter, match=said):
            small.upsert(corpus.vectors[:1], texts, ids=ids)
        assert small._index.state is before


def test_a_replaced_document_is_the_last_to_arrive(small, corpus):
    small.upsert(corpus.vectors[100:101], corpus.texts[100:101], ids=[corpus.ids[0]])
    assert small.ids() == [*corpus.ids[1:60], corpus.ids[0]]
    assert small.info()["n_deleted"] == 1
