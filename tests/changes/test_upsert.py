"""An upsert replaces documents and adds others in one change."""

from __future__ import annotations


def test_upsert_replaces_and_adds_in_one_change(small, corpus):
    small.upsert(corpus.vectors[100:102], corpus.texts[100:102], ids=[corpus.ids[0], "new"], keep_text=True)
    assert len(small) == 61
    assert small.get(corpus.ids[0])["text"] == corpus.texts[100]
    assert corpus.ids[0] in small.search(corpus.vectors[100], corpus.texts[100], k=2).ids.tolist()
