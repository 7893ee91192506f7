"""Payloads come as mappings or as tables; what is missing, and NaN, is null."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import hi2

ROWS = [{"year": 1999, "name": "a", "x": 0.5}, {"year": None, "name": "b", "x": None}]


def stored(payload):
    index = hi2.HybridIndex.build(np.eye(2), terms=None, payload=payload)
    index.verify()
    return [own["payload"] for own in index.get([0, 1])]


def test_a_mapping_of_columns():
    assert stored({"year": [1999, None], "name": np.array(["a", "b"]), "x": np.array([0.5, np.nan])}) == ROWS
    with pytest.raises(hi2.InvalidParameter, match=r"'payload'.*one length.*'a' with 2, 'b' with 3"):
        stored({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(hi2.InvalidParameter, match="'payload'"):
        stored({"a": [1, 2, 3]})
    with pytest.raises(hi2.InvalidParameter, match="'payload'"):
        stored({"a": 3})


def test_an_arrow_table():
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    assert stored(pyarrow.Table.from_pylist(ROWS)) == ROWS


def test_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame({"year": [1999, None], "name": ["a", "b"], "x": [0.5, float("nan")]}, index=[7, 3])
    assert stored(frame) == ROWS
    frame["at"] = pandas.to_datetime(["2020-01-02", None])
    assert [own["at"] for own in stored(frame)] == ["2020-01-02T00:00:00.000000", None]


def test_nan_is_null_wherever_it_is():
    nan = float("nan")
    rows = stored([{"a": nan, "b": [nan, 1.0], "c": {"d": np.float32("nan")}}, {"a": 0.5}])
    assert rows == [{"a": None, "b": [None, 1.0], "c": {"d": None}}, {"a": 0.5}]


def test_values_become_plain_data():
    rows = stored([{"a": np.int8(3), "b": (1, np.float64(2)), "at": datetime.date(2020, 1, 2)}, {}])
    assert rows[0] == {"a": 3, "b": [1, 2.0], "at": "2020-01-02"}
    for bad in ({"a": {1}}, {"a": float("inf")}, {"a": "\ud800"}, {"a": b"x"}):
        with pytest.raises(hi2.InvalidParameter, match=r"'payload'.*row 1"):
            stored([{}, bad])
