"""The payload is stored as typed columns, and read back as it was given."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2.errors import InvalidParameter
from hi2.filters.columns import Columns, kind_of, plain
from payloads import payload_of

VECTORS = np.eye(3, dtype=np.float32)
TEXTS = ["one", "two", "three"]


def test_columns_on_disk_equal_those_of_the_stored_payload(tmp_path):
    vectors, texts = np.random.default_rng(5).standard_normal((300, 24)), [f"word{i % 50}" for i in range(300)]
    payload = [payload_of(i) for i in range(300)]
    index = hi2.HybridIndex.build(vectors, texts, payload=payload, progress=False)
    index.save(tmp_path / "a.hi2")
    made = index._index.state.snapshot.segments[0].segment
    read = hi2.HybridIndex.open(tmp_path / "a.hi2")._index.state.snapshot.segments[0].segment
    docs = np.empty(300, np.int64)
    docs[made.rows] = np.arange(300)
    again = Columns.of_lines(made.stored_column().rows(), docs)
    assert list(read.columns.by_name) == list(again.by_name)
    assert set(read.columns.by_name) == set(payload[1])
    for name, column in read.columns.by_name.items():
        assert column.kind == again.by_name[name].kind
        np.testing.assert_array_equal(column.values, again.by_name[name].values)
        assert list(column.words) == list(again.by_name[name].words)


def test_dates_are_stored_as_text_that_sorts_by_time():
    moments = [date(2024, 1, 31), datetime(2024, 1, 31, 10, 5), datetime(2024, 2, 1, tzinfo=timezone.utc)]
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[{"at": own} for own in moments], progress=False)
    stored = [own["payload"]["at"] for own in index.get([0, 1, 2])]
    assert stored == ["2024-01-31", "2024-01-31T10:05:00.000000", "2024-02-01T00:00:00.000000Z"]
    assert index.search(VECTORS[0], filter=hi2.column("at") >= date(2024, 2, 1)).ids.tolist() == [2]


def test_datetimes_sort_by_time():
    first = datetime(2020, 1, 1, tzinfo=timezone.utc)
    moments = [first, first + timedelta(microseconds=5), np.datetime64("2019-12-31")]
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[{"at": own} for own in moments], progress=False)
    assert index.search(VECTORS[0], filter=hi2.column("at") > first).ids.tolist() == [1]
    assert index.search(VECTORS[0], filter=hi2.column("at") < np.datetime64("2020-01-01T00:00:00")).ids.tolist() == [2]


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
PAYLOADS = st.dictionaries(st.sampled_from("ab"), VALUES | st.lists(st.text(max_size=3), max_size=3))


@settings(max_examples=80, deadline=None)
@given(st.lists(PAYLOADS, min_size=1, max_size=12))
def test_the_columns_of_any_payload_can_be_read_back(rows):
    docs = np.random.default_rng(0).permutation(len(rows))
    columns = Columns.of_lines([json.dumps({"payload": own}).encode() for own in rows], docs)
    again = Columns.read(columns.arrays(), len(rows))
    for name, column in again.by_name.items():
        if column.kind in ("other", "tags"):
            continue
        for row, own in enumerate(rows):
            expected = own.get(name)
            found = column.value(int(docs[row]))
            assert found == (float(expected) if column.kind == "float" and expected is not None else expected)


def test_a_filter_on_a_key_beyond_the_column_limit_is_a_clear_error():
    payload = [{f"k{i}": 1 for i in range(300)}, {"k299": 1}]
    index = hi2.HybridIndex.build(VECTORS[:2], TEXTS[:2], payload=payload, progress=False)
    assert index.search(VECTORS[0], filter="k3 == 1").ids.tolist() == [0]
    with pytest.raises(InvalidParameter, match="256 columns before it"):
        index.search(VECTORS[0], filter="k299 == 1")
    hi2.HybridIndex.build(VECTORS[:2], TEXTS[:2], payload=[{"x": 10**400}, {"x": 1}], progress=False)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (3, "int"),
        (2**63, "float"),
        (-(2**63), "float"),  # this integer stands for no value
        (10**400, "other"),
        (0.5, "float"),
        ("a", "str"),
        ([], "tags"),
        (["a", "b"], "tags"),
        (["a", 1], "other"),
        ({}, "other"),
    ],
)
def test_the_kind_of_a_value_is_the_kind_of_its_column(value, kind):
    assert kind_of(value) == kind


def columns_of(*values):
    lines = [json.dumps({"payload": {"a": value}}).encode() for value in values]
    return Columns.of_lines(lines, np.arange(len(values)))


def test_integers_and_floats_mix_and_other_kinds_do_not():
    assert columns_of(1, 2.5, None, 3).by_name["a"].values.tolist()[:2] == [1.0, 2.5]
    assert columns_of(2.5, 1).by_name["a"].kind == "float"
    for values in ((1, "a"), (True, 1), ("a", ["a"]), (1, {})):
        assert columns_of(*values).by_name["a"].kind == "other"
    assert not columns_of(None, None).by_name


def test_grouping_by_tags_is_refused():
    column = columns_of(["a"]).by_name["a"]
    with pytest.raises(InvalidParameter, match="'a' is tags"):
        column.value(0)
    assert columns_of("x", None).by_name["a"].value(1) is None


def test_dates_and_numpy_numbers_become_plain():
    assert plain(np.int8(3)) == 3
    assert plain(np.datetime64("2020-01-02")) == "2020-01-02"
    east = timezone(timedelta(hours=2))
    assert plain(datetime(2020, 1, 2, 1, tzinfo=east)) == "2020-01-01T23:00:00.000000Z"
    with pytest.raises(TypeError, match="a set"):
        plain({1})
    for beyond in (np.datetime64("NaT"), np.datetime64(2**60, "Y"), np.datetime64(2**62, "s"), np.datetime64("10000")):
        with pytest.raises(TypeError, match="the time"):
            plain(beyond)
    assert plain(np.datetime64("9999-12-31T23")) == "9999-12-31T23:00:00.000000"


@pytest.mark.parametrize("line", [b"no JSON", b"[1]", b'{"payload": [1]}'])
def test_a_damaged_line_is_named(line):
    with pytest.raises(hi2.FormatError, match=r"stored\.jsonl"):
        Columns.of_lines([line], np.arange(1))


@pytest.mark.parametrize(
    "change",
    [
        {"columns.json": np.frombuffer(b"no JSON", np.uint8)},
        {"columns.json": None},
        {"column_0.npy": np.zeros(2, np.int64)},
        {"column_0.npy": np.zeros(3, np.int32)},
        {"column_1.npy": np.array([0, 1, 9], np.int32)},
        {"column_1_ends.npy": np.array([1, 99], np.uint64)},
        {"column_2_offsets.npy": np.array([0, 2, 1, 3])},
        {"column_2_offsets.npy": np.array([0, 1, 2])},
    ],
)
def test_damaged_columns_are_refused(change):
    payload = [{"n": 1, "s": "x", "t": ["p", "q"]}, {"s": "y", "t": ["q"]}, {"n": 3}]
    columns = Columns.of_lines([json.dumps({"payload": own}).encode() for own in payload], np.arange(3))
    stored = columns.arrays()
    assert set(change) <= set(stored)
    damaged = {name: array for name, array in {**stored, **change}.items() if array is not None}
    Columns.read(stored, 3)
    with pytest.raises(hi2.FormatError, match="payload columns cannot be read"):
        Columns.read(damaged, 3)
