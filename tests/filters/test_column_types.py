"""A column has one type; what does not fit is refused in the name of its document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.filters.column_types import KINDS, ColumnTypes, declared_columns
from hi2.filters.columns import Columns

VALUES = {
    "bool": True,
    "int": 3,
    "float": 0.5,
    "str": "a",
    "tags": ["a"],
    "numbers": [1, 2.5],
    "other": [{"a": 1}],
}


@pytest.mark.parametrize("first", VALUES)
@pytest.mark.parametrize("second", VALUES)
def test_types_mix_as_they_widen(first, second):
    types = ColumnTypes()
    assert types.mismatch({"a": VALUES[first]}) is None
    fits = first == second or {first, second} == {"int", "float"}
    wrong = types.mismatch({"a": VALUES[second]})
    assert (wrong is None) == fits
    if not fits:
        assert (KINDS[first] if first != "other" else "no filter reads") in wrong
    for always in (None, [], {}):
        assert types.mismatch({"a": always}) is None


def test_a_payload_that_does_not_fit_changes_no_type():
    types = ColumnTypes({"a": "int"})
    assert types.mismatch({"b": "x", "a": "x"}) is not None
    assert types.mismatch({"b": 3}) is None


def test_add_names_the_document_the_column_and_both_types():
    index = hi2.HybridIndex.build(np.eye(3), terms=None, ids=["x", "y", "z"], payload=[{"year": 1999}, {}, {"n": 1}])
    with pytest.raises(hi2.InvalidParameter, match=r"'year' is a string \('2001'\).*integers.*document 'b' \(row 1\)"):
        index.add(np.eye(3)[:2], ids=["a", "b"], payload=[{"year": 2000}, {"year": "2001"}])
    assert len(index) == 3
    index.add(np.eye(3)[:2], ids=["a", "b"], payload=[{"year": 2000.5}, {"year": None, "n": 2}])
    assert sorted(index.ids(filter="year >= 1999")) == ["a", "x"]
    with pytest.raises(hi2.InvalidParameter, match=r"'at\.year' is an integer.*strings"):
        index.add(np.eye(3), payload=[{"at": {"year": "x"}}, {}, {"at": {"year": 3}}], ids=["c", "d", "e"])
    with pytest.raises(hi2.InvalidParameter, match="document 1"):
        hi2.HybridIndex.build(np.eye(2), terms=None, payload=[{"a": 1}, {"a": "x"}])


def test_a_column_that_is_declared_free_takes_anything_and_stays_free(tmp_path):
    payload = [{"extra": 1, "at": {"any": 2}}, {"extra": "x", "at": {"any": "y"}}]
    free = {"extra": "other", "at.any": "other", "year": "int"}
    hi2.HybridIndex.build(np.eye(2), terms=None, payload=payload, columns=free, path=tmp_path / "a").close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(np.eye(2)[:1], payload=[{"extra": [True], "year": 3}])
        assert [own["payload"].get("extra") for own in index.get([0, 1, 2])] == [1, "x", [True]]
        with pytest.raises(hi2.InvalidParameter, match="'extra'"):
            index.ids(filter="extra == 1")
        with pytest.raises(hi2.InvalidParameter, match="'year' is a string"):
            index.add(np.eye(2)[:1], payload=[{"year": "x"}])
        index.commit()
        index.merge()
        index.verify()
        index.add(np.eye(2)[:1], payload=[{"extra": 0.5}])


@pytest.mark.parametrize("columns", [["a"], {"a": "text"}, {3: "int"}, {"a": ["int"]}])
def test_bad_declarations_are_refused(columns):
    with pytest.raises(hi2.InvalidParameter, match="'columns'"):
        declared_columns(columns)
    with pytest.raises(hi2.InvalidParameter, match="'columns'"):
        hi2.HybridIndex.build(np.eye(2), terms=None, columns=columns)


LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.sampled_from("xy")
LISTS = st.lists(st.sampled_from("xy"), max_size=2) | st.lists(st.integers(-9, 9), max_size=2)
PAYLOADS = st.dictionaries(st.sampled_from("abc"), LEAVES | LISTS | st.dictionaries(st.sampled_from("de"), LEAVES))


@given(st.lists(PAYLOADS, max_size=6))
def test_what_is_admitted_makes_columns_of_one_type(rows):
    types = ColumnTypes()
    admitted = [own for own in rows if types.mismatch(own) is None]
    columns = Columns.of_payloads(admitted, np.arange(len(admitted)))
    assert all(column.kind != "other" for column in columns.by_name.values())


def test_empty_lists_give_a_column_no_type():
    index = hi2.HybridIndex.build(np.eye(2), terms=None, payload=[{"s": []}, {}])
    index.add(np.eye(2)[:1], payload=[{"s": [1.5]}])
    index.merge()
    assert index.ids(filter="s contains 1.5") == [2]


@pytest.mark.parametrize(
    ("rows", "filter", "found"),
    [
        ([{"x": [1.0, float("nan")]}, {"x": [2.0]}], "x contains 2", [1]),
        ([{"x": ["a", None]}, {"x": ["b"]}], "x contains 'a'", [0]),
        ([{"x": [None]}, {"x": 5}], "x == 5", [1]),
    ],
)
def test_null_fits_in_lists_too(rows, filter, found):
    index = hi2.HybridIndex.build(np.eye(2), terms=None, payload=rows)
    assert index.ids(filter=filter) == found
    index.verify()


@pytest.mark.parametrize("odd", [[1, "a"], [{"a": 1}], 2**1030, [True, False]])
def test_what_no_filter_reads_has_a_type_too(odd, tmp_path):
    index = hi2.HybridIndex.build(np.eye(2), terms=None, payload=[{"x": odd}, {"y": 1}], path=tmp_path / "a")
    for own in (index, hi2.HybridIndex.open(tmp_path / "a", "r")):
        assert "holds values that no filter reads" in str(own.column_types().mismatch({"x": 5}))
    index.add(np.eye(2)[:1], payload=[{"x": [[], {}]}])
    with pytest.raises(hi2.InvalidParameter, match="'y' is a value that no filter reads"):
        index.add(np.eye(2)[:1], payload=[{"y": odd}])
    assert index.ids(filter="y == 1") == [1]


def test_a_free_column_takes_objects_of_any_kind_and_is_not_filtered_on(tmp_path):
    rows = [{"x": {"a": 1}}, {"x": {"a": "b"}}]
    columns = {"x": "other"}
    index = hi2.HybridIndex.build(np.eye(2), terms=None, payload=rows, columns=columns, path=tmp_path / "a")
    index.add(np.eye(2), payload=[{"x": [1]}, {"x": 3}])
    for change in (index.commit, index.merge, index.refit, index.commit):
        change()
        assert [index.get(i)["payload"]["x"] for i in range(4)] == [{"a": 1}, {"a": "b"}, [1], 3]
        with pytest.raises(hi2.InvalidParameter, match="'filter'"):
            index.count(filter="x.a == 1")
        with pytest.raises(hi2.InvalidParameter, match="several types"):
            index.count(filter="x == 3")
        index.add(np.eye(2)[:1], payload=[{"x": {"a": None}}])
        index.verify()
