"""A segment is its arrays: rows, clusters, ids and stored documents are read from them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import filing
import hi2
from hi2 import _native
from hi2.data.ids import id_column
from hi2.state.segment import Segment, SegmentMeta, alive_bits, alive_flags, id_arrays, rank_bits, width

N = 70


@pytest.fixture(scope="module")
def model(corpus):
    return filing.model_of(corpus)


@pytest.fixture(scope="module")
def segment(corpus, model):
    payload = [{"number": i, "odd": bool(i % 2)} for i in range(N)]
    return filing.file(model, corpus.vectors[:N], corpus.texts[:N], ids=corpus.ids[:N], payload=payload, keep_text=True)


def test_documents_are_numbered_by_cluster_and_then_by_arrival(corpus, model, segment):
    labels = segment.labels()
    assert sorted(segment.rows.tolist()) == list(range(N))
    assert (np.diff(labels.astype(int)) >= 0).all()
    np.testing.assert_array_equal(labels, model.clusters.assign(corpus.vectors[:N])[0][segment.rows])
    for label in np.unique(labels):
        assert (np.diff(segment.rows[labels == label]) > 0).all()
    assert [segment.row_of(doc) for doc in range(N)] == segment.rows.tolist()


def test_ids_are_in_order_of_arrival_and_found_by_value(corpus, segment):
    assert segment.id_column().as_list() == corpus.ids[:N]
    assert segment.take_ids(np.array([5, 0, 5], np.uint32)) == [corpus.ids[i] for i in (5, 0, 5)]
    found = segment.ids.find([*corpus.ids[:N], "nobody"])
    assert found[-1] == -1
    np.testing.assert_array_equal(segment.rows[found[:-1]], np.arange(N))


def test_stored_documents_are_read_by_row(corpus, segment):
    assert segment.keeps_documents
    for row in (0, 1, N - 1):
        stored = {"text": corpus.texts[row], "payload": {"number": row, "odd": bool(row % 2)}}
        assert segment.stored(row) == stored
    assert len(segment.stored_column()) == N
    assert list(segment.stored_lines()) == segment.stored_column().rows()
    assert segment.docs()[segment.rows].tolist() == list(range(N))


def test_columns_are_made_from_the_stored_lines_where_none_are_stored(model, segment):
    """Indexes that were written before columns existed are filtered too."""
    older = {name: array for name, array in segment.arrays.items() if not name.startswith("column")}
    made = Segment(model, segment.meta, older).columns
    assert "columns.json" in segment.arrays
    assert set(made.by_name) == {"number", "odd"}
    for name, column in segment.columns.by_name.items():
        np.testing.assert_array_equal(column.values, made.by_name[name].values)
    np.testing.assert_array_equal(made.by_name["number"].values, segment.rows)


def test_a_segment_without_stored_documents_has_no_columns(corpus, model):
    bare = filing.file(model, corpus.vectors[:3], corpus.texts[:3])
    assert not bare.keeps_documents
    assert bare.stored(0) == {}
    assert not bare.columns.by_name
    assert bare.columns.n_docs == 3


def test_bytes_are_counted_by_array(segment):
    assert segment.n_bytes["codes.npy"] == N * 4 * 40
    assert set(segment.n_bytes) == set(segment.arrays)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("codes.npy", None),
        ("codes.npy", lambda a: a[:-1]),
        ("codes.npy", lambda a: a[:, :-1]),
        ("rows.npy", lambda a: a[:4]),
        ("by_id.npy", lambda a: a[:4]),
        ("cluster_keys.npy", None),
        ("cluster_offsets.npy", lambda a: a[:-9]),
        ("term_lists.npy", lambda a: a[:20]),
        ("term_keys.npy", np.zeros_like),
        ("id_lengths.npy", lambda a: a[:-1]),
        ("stored_ends.npy", lambda a: a[:-1]),
        ("stored_ends.npy", lambda a: a.astype(np.float64)),
        ("stored.jsonl", None),
        ("stored.jsonl", lambda a: a[:, None]),
        ("stored.jsonl", lambda a: a.astype(np.uint16)),
    ],
)
def test_arrays_that_do_not_fit_are_found_when_a_segment_is_made(model, segment, name, damage):
    arrays = dict(segment.arrays)
    original = arrays.pop(name)
    if damage is not None:
        arrays[name] = np.ascontiguousarray(damage(original))
    with pytest.raises(hi2.FormatError, match=r"damaged|has no array"):
        Segment(model, segment.meta, arrays)


@pytest.mark.parametrize("line", [b"no JSON", b"[1, 2]", b'{"text": 3}', b'{"payload": "x"}'])
def test_a_damaged_line_is_found_when_it_is_read(model, segment, line):
    ends = segment.arrays["stored_ends.npy"]
    data = segment.arrays["stored.jsonl"].copy()
    data[: int(ends[0])] = np.frombuffer(line.ljust(int(ends[0])), np.uint8)
    damaged = Segment(model, segment.meta, {**segment.arrays, "stored.jsonl": data})
    assert damaged.stored(1) == segment.stored(1)
    with pytest.raises(hi2.FormatError, match=r"stored\.jsonl"):
        damaged.stored(0)
    short = Segment(model, segment.meta, {**segment.arrays, "stored.jsonl": data[:50]})
    for read in (short.stored_column, lambda: short.stored(N - 1)):
        with pytest.raises(hi2.FormatError, match=r"stored_ends\.npy"):
            read()


@given(st.lists(st.booleans(), max_size=40))
def test_alive_bits_return_the_flags(flags):
    bits = alive_bits(flags)
    assert len(bits) == (len(flags) + 7) // 8
    assert alive_flags(bits, len(flags)).tolist() == flags
    for doc, alive in enumerate(flags):
        assert bool(bits[doc >> 3] >> (doc & 7) & 1) == alive
    assert alive_flags(None, 3).tolist() == [True] * 3


@given(st.integers(0, 2**56))
def test_a_width_holds_the_largest_value_and_no_more_bits(largest):
    bits = width(largest)
    assert largest < 1 << bits
    assert bits == 1 or largest >= 1 << (bits - 1)


def test_ranks_take_the_bits_of_the_largest(corpus):
    for per_doc, bits in ((1, 0), (2, 1), (5, 3), (256, 8)):
        assert rank_bits(filing.model_of(corpus, terms=hi2.BM25(per_doc=per_doc))) == bits
    assert rank_bits(filing.model_of(corpus, terms=None)) == 0


@pytest.mark.parametrize(("longest", "dtype"), [(255, np.uint8), (256, np.uint16), (65_536, np.uint32)])
def test_lengths_of_ids_take_as_few_bytes_as_the_longest_needs(longest, dtype):
    ids = ["x" * longest, *map(str, range(100))]
    arrays = id_arrays(id_column(ids))
    assert arrays["id_lengths.npy"].dtype == dtype
    assert arrays["id_lengths.npy"].tolist() == [len(id) for id in ids]
    begins = np.append(0, np.cumsum([len(id) for id in ids]))[:-1]
    assert arrays["id_positions.npy"].tolist() == begins[:: _native.ID_BLOCK].tolist()
    assert set(id_arrays(id_column([1, 2]))) == {"ids.npy"}


@settings(max_examples=50)
@given(st.builds(SegmentMeta, st.integers(0, 2**32 - 1), st.sampled_from(["int", "str"]), st.integers(0, 9)))
def test_the_counts_of_a_segment_return_from_json(meta):
    assert SegmentMeta.from_json(json.loads(json.dumps(meta.to_json()))) == meta


@pytest.mark.parametrize(
    "change",
    [{"ids": "float"}, {"n_docs": 2**32}, {"n_runs": True}, {"n_docs": -1}, {"n_runs": 2**40}, {"n_docs": 1.5}],
)
def test_counts_out_of_range_are_refused(change):
    with pytest.raises(ValueError, match="out of range"):
        SegmentMeta.from_json({**SegmentMeta(3, "int").to_json(), **change})
