"""Filters of Haystack find the documents that Haystack's own rules name."""

from __future__ import annotations

from datetime import datetime

import pytest

pytest.importorskip("haystack", reason="needs the extra 'haystack'")

from haystack.dataclasses import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2.integrations.haystack import Hi2DocumentStore
from hi2.integrations.haystack_filters import hi2_filter

METADATA = [
    {},
    {"n": 1, "s": "a", "ok": True, "t": ["a"], "mixed": 1, "by": {"name": "Ada", "age": 3}},
    {"n": 2.5, "s": "", "ok": False, "t": [], "mixed": "1", "by": {"name": "Bo"}},
    {"n": -1, "s": "2024-01-01", "t": ["b", "a"], "mixed": [1], "e": []},
    {"n": None, "s": "it's", "mixed": True, "by": None, "day": "2024-05-01T00:00:00"},
    {"n": 10**18, "f": [1, 2.5], "mixed": None, "day": "2023-05-01T00:00:00"},
]
DOCUMENTS = [Document(id=str(i), content=f"text {i}", meta=own) for i, own in enumerate(METADATA)]


@pytest.fixture(scope="module")
def store():
    made = Hi2DocumentStore()
    made.write_documents(DOCUMENTS)
    return made


def found(store, filters):
    return [own.id for own in store.filter_documents(filters)]


FIELDS = ["meta.n", "n", "meta.s", "meta.ok", "meta.t", "meta.f", "meta.e", "meta.mixed", "meta.by.name", "meta.none"]
FIELDS += ["id", "content", "meta.by.age", "meta.by.name.deeper", "none.n"]
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, -1, 10**18, "a", "", "1", "it's", "Ada", "3"])
VALUES = SCALARS | st.sampled_from([["a"], [], ["b", "a"], [1, 2.5], [1], {"name": "Bo"}])
EQUALITIES = st.builds(
    lambda field, op, value: {"field": field, "operator": op, "value": value},
    st.sampled_from(FIELDS),
    st.sampled_from(["==", "!="]),
    VALUES,
)
MEMBERSHIPS = st.builds(
    lambda field, op, value: {"field": field, "operator": op, "value": value},
    st.sampled_from(FIELDS),
    st.sampled_from(["in", "not in"]),
    st.lists(VALUES, max_size=3),
)
ORDERINGS = st.builds(
    lambda field, op, value: {"field": field, "operator": op, "value": value},
    st.sampled_from(["meta.n", "meta.ok", "meta.by.age", "meta.none"]),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.sampled_from([None, 0, 1, 2.5, 10**18, True]),
)
FILTERS = st.recursive(
    EQUALITIES | MEMBERSHIPS | ORDERINGS,
    lambda own: st.builds(
        lambda op, conditions: {"operator": op, "conditions": conditions},
        st.sampled_from(["AND", "OR", "NOT"]),
        st.lists(own, max_size=3),
    ),
    max_leaves=5,
)


@settings(max_examples=400)
@given(FILTERS)
def test_a_filter_finds_what_the_rules_of_haystack_name(store, filters):
    assert found(store, filters) == [own.id for own in DOCUMENTS if document_matches_filter(filters, own)]


@pytest.mark.parametrize(
    ("field", "operator", "value"),
    [
        ("meta.n", "==", 1),
        ("n", "!=", 1),
        ("meta.by.name", "in", ["Ada", "Bo"]),
        ("meta.day", ">=", "2024-01-01T00:00:00"),
        ("meta.n", "not in", [1, None]),
    ],
)
def test_common_filters_are_answered_by_columns(store, field, operator, value):
    filters = {"field": field, "operator": operator, "value": value}
    assert isinstance(hi2_filter(store.index, filters, pytest.fail), str)


def test_dates_compare_as_text(store):
    def after(value):
        return found(store, {"field": "meta.day", "operator": ">", "value": value})

    assert after("2024-01-01T00:00:00") == ["4"]
    assert after(datetime(2022, 1, 1)) == ["4", "5"]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ("a", "must be a mapping. Got 'a'"),
        ({"operator": "AND"}, "key 'conditions'"),
        ({"conditions": []}, "key 'operator'"),
        ({"field": "a", "operator": "=="}, "key 'value'"),
        ({"field": "a", "operator": "~", "value": 1}, "one of ==, .*Got '~'"),
        ({"operator": "XOR", "conditions": []}, "one of AND, OR, NOT"),
        ({"field": "a", "operator": "in", "value": 1}, "must be a list. Got 1"),
        ({"field": "a", "operator": ">", "value": [1]}, r"number or a date. Got \[1\]"),
        ({"field": "a", "operator": ">", "value": "soon"}, "ISO 8601 date. Got 'soon'"),
        ({"field": "meta.n", "operator": ">", "value": "2024-01-01"}, "compared with dates only"),
        ({"operator": "NOT", "conditions": [{"field": "a"}]}, "key 'operator'"),
    ],
)
def test_malformed_filters_are_refused(store, filters, said):
    with pytest.raises(FilterError, match=said):
        store.filter_documents(filters)


def test_no_filters_are_no_filter():
    index = hi2.HybridIndex.create(dim=2)
    assert hi2_filter(index, None, pytest.fail) is hi2_filter(index, {}, pytest.fail) is None
