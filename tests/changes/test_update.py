"""An update changes the payload of documents and nothing else of them."""

from __future__ import annotations

import numpy as np
import pytest

import hi2


@pytest.fixture
def index(corpus, tmp_path):
    payload = [{"year": 2000 + i, "lang": "en"} for i in range(60)]
    return hi2.HybridIndex.build(
        corpus.vectors[:60], corpus.texts[:60], ids=corpus.ids[:60], payload=payload, path=tmp_path / "a"
    )


def scores(index, corpus):
    batch = index.search(corpus.query_vectors, corpus.query_texts, k=60, clusters=10**6)
    return [dict(zip(own.ids.tolist(), own.scores.tolist(), strict=True)) for own in batch]


def test_given_keys_are_replaced_and_all_else_stays(index, corpus, tmp_path):
    before, text = scores(index, corpus), index.get(corpus.ids[3])["text"]
    index.update([corpus.ids[3], corpus.ids[9]], payload=[{"lang": "de", "seen": True}, {"year": None}])
    index.update(corpus.ids[4], payload={"lang": "fr"})
    assert index.get(corpus.ids[3]) == {
        "id": corpus.ids[3],
        "text": text,
        "payload": {"year": 2003, "lang": "de", "seen": True},
    }
    assert index.get(corpus.ids[9])["payload"] == {"year": None, "lang": "en"}
    assert index.ids(filter="lang != 'en'") == [corpus.ids[3], corpus.ids[4]]
    assert scores(index, corpus) == before
    assert len(index) == 60
    index.commit()
    index.close()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.ids(filter="lang == 'fr'") == [corpus.ids[4]]
    assert again.count(filter="year >= 2000") == 59


def test_many_updates_are_merged(index, corpus):
    for i in range(60):
        index.update(corpus.ids[i], payload={"year": i})
    index.verify()
    assert [own["payload"]["year"] for own in index.get(corpus.ids[:60])] == list(range(60))
    assert len(index._index.state.snapshot.segments) < 8


def test_documents_that_had_none_get_a_payload():
    index = hi2.HybridIndex.build(np.eye(3), terms=None)
    index.update([2, 0], payload={"year": [1999, 2001]})
    assert [index.get(i).get("payload") for i in range(3)] == [{"year": 2001}, None, {"year": 1999}]
    index.update([], payload=[])


@pytest.mark.parametrize(
    ("ids", "payload", "said"),
    [
        (["nobody"], [{}], "in the index"),
        ([3], [{}], "strings"),
        (["a", "a"], [{}, {}], "twice"),
        (["a"], [{}, {}], "one mapping per id"),
        (["a"], ["x"], "one mapping per id"),
        (["a"], [{"year": "x"}], "'year' is a string"),
        (["a"], [{"x": {1}}], "a set in 'x' of the payload of 'a'"),
        (["a"], None, "'payload'"),
        (["a"], [{"x": "\ud800"}], "valid Unicode"),
    ],
)
def test_what_cannot_be_updated_is_refused_and_nothing_changes(ids, payload, said):
    index = hi2.HybridIndex.build(np.eye(2), terms=None, ids=["a", "b"], payload=[{"year": 1}, {"year": 2}])
    with pytest.raises(hi2.InvalidParameter, match=said):
        index.update(ids, payload=payload)
    assert index.get("a")["payload"] == {"year": 1}
