"""Any JSON metadata can be stored, and comes back as it was."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.integrations.metadata import ASIDE, changed_payloads, from_payload, nested, stored_by_adapter, to_payloads

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=3), own, max_size=3), max_leaves=6
)
METADATA = st.dictionaries(st.sampled_from(["a", "b", "a.b", "_other", "_store", "", "`", "ö"]), VALUES, max_size=4)


def filed(*metadata, index=None):
    """An index of documents with this metadata, and what it gives back."""
    index = hi2.HybridIndex.create(dim=2) if index is None else index
    ids = [f"{len(index)}-{row}" for row in range(len(metadata))]
    index.add([[1.0, 0.0]] * len(ids), ["text"] * len(ids), ids=ids, payload=to_payloads(index, metadata))
    return index, [from_payload(own.get("payload", {})) for own in index.get(ids)]


@given(st.lists(st.lists(METADATA, min_size=1, max_size=3), min_size=1, max_size=3))
def test_metadata_comes_back_as_it_was_whatever_came_before(batches):
    index = None
    for batch in batches:
        index, back = filed(*batch, index=index)
        assert [repr(sorted(own.items())) for own in map(typed, back)] == [
            repr(sorted(own.items())) for own in map(typed, batch)
        ]


def typed(value):
    """The value with the types of numbers, by which 1, 1.0 and true differ; keys of mappings are sorted."""
    if isinstance(value, dict):
        return {key: typed(own) for key, own in sorted(value.items())}
    return [typed(own) for own in value] if isinstance(value, list) else value


def test_values_that_fit_are_columns_and_others_are_set_aside():
    index, back = filed({"year": 1999}, {"year": "new", "tags": ["x"]}, {"year": 2001.5, "tags": [{"deep": 1}]})
    assert index.ids(filter="year > 2000") == ["0-2"]
    assert index.ids(filter="tags contains 'x'") == ["0-1"]
    assert index.ids(filter=f"{ASIDE}.keys contains 'year'") == ["0-1"]
    assert [own["year"] for own in back] == [1999, "new", 2001.5]
    assert back[2]["tags"] == [{"deep": 1}]


def test_dates_and_numbers_of_numpy_fit_as_the_index_stores_them():
    index, back = filed(
        {"day": date(2024, 5, 1), "n": np.int64(3)},
        {"day": "2024-05-02", "n": 4},
        {"day": datetime(2024, 5, 3), "n": 5},
    )
    assert index.ids(filter="day > '2024-05-01' and n < 5") == ["0-1"]
    assert back[2] == {"day": "2024-05-03T00:00:00.000000", "n": 5}
    assert ASIDE not in index.get("0-2")["payload"]


def test_a_change_moves_a_value_aside_and_back():
    index, _ = filed({"year": 1999, "kept": True})
    for year in ("new", 2000, [None], 2001):
        before = [index.get("0-0")["payload"]]
        index.update(["0-0"], payload=changed_payloads(index, before, {"year": year}))
        assert from_payload(index.get("0-0")["payload"]) == {"year": year, "kept": True}


def test_what_an_adapter_remembers_is_not_metadata():
    index = hi2.HybridIndex.create(dim=2)
    payload = to_payloads(index, [{"_store": 1}, {}], [{"kind": "a"}, {}])
    assert [from_payload(own) for own in payload] == [{"_store": 1}, {}]
    assert [stored_by_adapter(own) for own in payload] == [{"kind": "a"}, {}]


def test_what_is_not_json_is_refused_by_the_index():
    index = hi2.HybridIndex.create(dim=2)
    deep: dict = {}
    deep["itself"] = deep
    for wrong in ({"a": object()}, {1: 2}, deep):
        with pytest.raises(hi2.InvalidParameter, match="payload"):
            filed(wrong, index=index)
    with pytest.raises(hi2.InvalidParameter, match="'metadata' parameter must be one mapping per document"):
        filed("a", index=index)


def test_a_path_is_nested():
    assert nested(("a", "b"), 1) == {"a": {"b": 1}}
