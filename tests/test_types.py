"""Hits are read by query and by rank, and explain themselves where an index gave them."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

import hi2


class Shelf:
    """Documents by id, read one call at a time."""

    def __init__(self, **stored):
        self.stored = stored
        self.n_read = 0

    def documents(self, ids):
        self.n_read += 1
        return [self.stored.get(id, {}) for id in ids]

    def snippet(self, query, id, text):
        return f"{query}: {text[:3]}"

    def explain(self, query, id):
        return query, id


@pytest.fixture
def batch():
    ids = np.array([["a", "b", None], ["c", None, None]], object)
    scores = np.float32([[3, 2, -np.inf], [5, -np.inf, -np.inf]])
    counts, n_scored = np.array([2, 1]), np.array([20, 10])
    groups = np.array([["x", None, None], ["y", None, None]], object)
    return hi2.Hits(ids, scores, n_scored, counts, np.array([4, 0]), np.array([True, False]), groups)


def test_the_hits_of_one_query_of_a_batch_hold_no_empty_places(batch):
    first, second = batch
    assert (first.ids.tolist(), second.ids.tolist()) == (["a", "b"], ["c"])
    assert list(first) == [("a", 3.0), ("b", 2.0)]
    assert (first.n_scored, first.counts, first.n_term_lists, first.complete) == (20, 2, 4, True)
    assert first.groups.tolist() == ["x", None]
    assert second.complete is False
    assert [batch.batched, first.batched] == [True, False]


def test_integer_ids_are_plain_integers():
    hits = hi2.Hits(np.array([7, 3]), np.float32([2, 1]), n_scored=2, counts=2)
    assert type(hits[0][0]) is int
    assert hits[-1] == (3, 1.0)
    assert len(hits) == 2


def test_hits_explain_the_query_they_belong_to(batch):
    with pytest.raises(hi2.InvalidParameter, match=r"hits\[i\]\.explain"):
        batch[0].explain(0)  # no index gave them
    explained = batch.coming_from(Shelf())
    assert explained is batch
    assert explained[1].explain(0) == (1, "c")
    assert explained[0].explain() == [(0, "a"), (0, "b")]
    assert explained[0].explain(-1) == (0, "b")
    with pytest.raises(hi2.InvalidParameter, match="one of 2 hits"):
        explained[0].explain(2)


def test_a_hit_reads_its_document_once_and_when_it_is_asked_for(batch):
    shelf = Shelf(a={"text": "apples", "payload": {"year": 1999}}, b={})
    first, second = batch.coming_from(shelf)[0]
    assert shelf.n_read == 0
    assert (first.id, first.score, first.text, first.payload) == ("a", 3.0, "apples", {"year": 1999})
    assert first.snippet == "0: app"
    assert shelf.n_read == 1
    assert (second.text, second.payload, second.snippet) == (None, {}, None)
    id, score = first
    assert (id, score) == first == ("a", 3.0)
    assert repr(first) == "Hit(id='a', score=3)"
    assert batch[1][0].snippet is None


def test_slices_are_lists(batch):
    assert [hit.id for hit in batch[0][:1]] == ["a"]
    assert [len(own) for own in batch[-2:]] == [2, 1]


def test_hits_become_mappings(batch):
    shelf = Shelf(a={"text": "apples", "payload": {"year": 1999}})
    rows = batch.coming_from(shelf).to_dicts()
    expected = [
        [
            {"id": "a", "score": 3.0, "text": "apples", "payload": {"year": 1999}, "group": "x"},
            {"id": "b", "score": 2.0, "text": None, "payload": {}, "group": None},
        ],
        [{"id": "c", "score": 5.0, "text": None, "payload": {}, "group": "y"}],
    ]
    assert rows == expected
    assert shelf.n_read == 2  # once a query
    assert hi2.Hits(np.array([7]), np.float32([2]), 1, 1).to_dicts() == [
        {"id": 7, "score": 2.0, "text": None, "payload": {}}
    ]


def test_hits_become_tables(batch):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    batch.coming_from(Shelf(a={"text": "apples", "payload": {"year": 1999}}))
    table = batch.to_arrow()
    assert table.column_names == ["query", "id", "score", "text", "payload", "group"]
    assert table["query"].to_pylist() == [0, 0, 1]
    assert table["payload"].to_pylist() == ['{"year": 1999}', "{}", "{}"]
    one = hi2.Hits(np.array([7]), np.float32([2]), 1, 1).to_arrow()
    assert (one["id"].type, one.column_names) == (pyarrow.int64(), ["id", "score", "text", "payload"])
    none = hi2.Hits(np.zeros(0, np.int64), np.zeros(0, np.float32), 0, 0).to_arrow()
    assert (none.num_rows, none["text"].type) == (0, pyarrow.string())


def test_hits_become_a_data_frame(batch):
    pytest.importorskip("pandas", reason="needs pandas")
    frame = batch.coming_from(Shelf(a={"text": "apples", "payload": {"year": 1999}})).to_pandas()
    assert list(frame.columns) == ["query", "id", "score", "text", "payload", "group"]
    assert frame["payload"].tolist() == [{"year": 1999}, {}, {}]
    assert len(hi2.Hits(np.array([7]), np.float32([2]), 1, 1).to_pandas()) == 1


@pytest.mark.parametrize(
    ("method", "module", "named"), [("to_pandas", "pandas", "pandas"), ("to_arrow", "pyarrow", "hi2\\[parquet\\]")]
)
def test_a_table_without_its_library_names_what_to_install(batch, monkeypatch, method, module, named):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(hi2.MissingExtra, match=f"pip install.*{named}"):
        getattr(batch, method)()


def test_pickled_hits_carry_their_documents(batch):
    shelf = Shelf(a={"text": "apples", "payload": {"year": 1999}}, c={"text": "cherries"})
    shelf.lock = lambda: None  # no pickle takes it
    again = pickle.loads(pickle.dumps(batch.coming_from(shelf)))
    assert again.ids.tolist() == batch.ids.tolist()
    assert (again[0][0].text, again[0][0].payload) == ("apples", {"year": 1999})
    assert (again[0][0].snippet, again[1][0].snippet) == ("0: app", "1: che")
    assert again.to_dicts() == batch.to_dicts()
    with pytest.raises(hi2.InvalidParameter, match=r"index\.explain"):
        again[0].explain(0)
    hit = pickle.loads(pickle.dumps(batch[1][0]))
    assert (hit, hit.text, hit.snippet) == (("c", 5.0), "cherries", "1: che")
    bare = pickle.loads(pickle.dumps(hi2.Hits(np.array([7]), np.float32([2]), 1, 1)))
    assert (bare[0].text, pickle.loads(pickle.dumps(bare[0]))) == (None, (7, 2.0))


def test_hits_are_shown_in_one_line(batch):
    assert repr(batch) == "<3 hits of 2 queries; 30 documents scored>"
    assert repr(batch[1]) == "<1 hit: 'c' (5); 10 documents scored>"
    many = hi2.Hits(np.arange(1000), np.linspace(1, 0, 1000, dtype=np.float32), 5000, 1000)
    assert repr(many) == "<1000 hits: 0 (1), 1 (0.999), 2 (0.998), …; 5000 documents scored>"
    assert repr(hi2.Hits(np.zeros(0, np.int64), np.zeros(0, np.float32), 0, 0)) == "<0 hits; 0 documents scored>"
