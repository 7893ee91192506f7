"""Metadata filters of LlamaIndex find the nodes that LlamaIndex's own rules name."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llama-index'")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

import hi2
from hi2.integrations.llama_index import Hi2VectorStore
from hi2.integrations.llama_index_filters import hi2_filter

METADATA = [
    {},
    {"n": 1, "s": "a", "ok": True, "t": ["a"], "f": [1, 2], "mixed": 1, "a.b": "dotted"},
    {"n": 2.5, "s": "", "ok": False, "t": [], "mixed": "1"},
    {"n": -1, "s": "abc", "t": ["b", "a"], "mixed": 2.5},
    {"n": None, "s": "it's", "mixed": True},
]
NODES = [TextNode(id_=str(i), text=f"text {i}", metadata=own, embedding=[1.0, i]) for i, own in enumerate(METADATA)]


@pytest.fixture(scope="module")
def store():
    made = Hi2VectorStore()
    made.add(NODES)
    return made


def found(store, filters):
    return [own.node_id for own in store.get_nodes(filters=filters)]


def expected(filters):
    """The nodes by LlamaIndex's rules; a filter inside another is evaluated by itself."""

    def matches(metadata, own):
        if isinstance(own, MetadataFilter):
            return build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[own]))("")
        parts = [matches(metadata, part) for part in own.filters]
        if own.condition == FilterCondition.NOT:
            return not any(parts)
        return all(parts) if own.condition == FilterCondition.AND else any(parts)

    return [str(i) for i, metadata in enumerate(METADATA) if not filters.filters or matches(metadata, filters)]


O = FilterOperator  # noqa: E741
KEYS = st.sampled_from(["n", "s", "ok", "t", "f", "mixed", "none", "a.b"])
SCALARS = st.sampled_from([0, 1, 2.5, -1, "a", "", "1", "it's", "dotted"])
LISTS = st.sampled_from([["a"], ["b", "a"], ["1"], [1], [1, 2], [2.5], []])
LEAVES = (
    st.builds(MetadataFilter, key=KEYS, operator=st.sampled_from([O.EQ, O.NE]), value=SCALARS | LISTS | st.none())
    | st.builds(MetadataFilter, key=KEYS, operator=st.sampled_from([O.IN, O.NIN]), value=LISTS)
    | st.builds(MetadataFilter, key=KEYS, operator=st.just(O.IS_EMPTY), value=st.none())
    | st.builds(
        MetadataFilter,
        key=st.sampled_from(["n", "none"]),
        operator=st.sampled_from([O.GT, O.GTE, O.LT, O.LTE]),
        value=st.sampled_from([0, 1, 2.5]),
    )
    | st.builds(
        MetadataFilter,
        key=st.sampled_from(["s", "t", "none"]),
        operator=st.sampled_from([O.ANY, O.ALL]),
        value=st.sampled_from([["a"], ["a", "b"], []]),
    )
    | st.builds(
        MetadataFilter,
        key=st.sampled_from(["s", "t", "none"]),
        operator=st.just(O.CONTAINS),
        value=st.sampled_from(["a", "b", ""]),
    )
    | st.builds(
        MetadataFilter,
        key=st.sampled_from(["s", "none"]),
        operator=st.sampled_from([O.TEXT_MATCH, O.TEXT_MATCH_INSENSITIVE]),
        value=st.sampled_from(["B", "b", ""]),
    )
)
FILTERS = st.recursive(
    st.builds(
        MetadataFilters, filters=st.lists(LEAVES, min_size=1, max_size=2), condition=st.sampled_from(FilterCondition)
    ),
    lambda own: st.builds(
        MetadataFilters,
        filters=st.lists(LEAVES | own, min_size=1, max_size=3),
        condition=st.sampled_from(FilterCondition),
    ),
    max_leaves=4,
)


@settings(max_examples=400)
@given(FILTERS)
def test_filters_find_what_the_rules_of_llama_index_name(store, filters):
    assert found(store, filters) == expected(filters)


@pytest.mark.parametrize(
    ("key", "operator", "value"),
    [("n", O.GTE, 1), ("s", O.IN, ["a"]), ("t", O.ALL, ["a", "b"]), ("s", O.NE, "a"), ("t", O.IS_EMPTY, None)],
)
def test_common_filters_are_answered_by_columns(store, key, operator, value):
    filters = MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])
    assert isinstance(hi2_filter(store.client, filters), str)


def test_no_filters_are_no_filter(store):
    assert hi2_filter(store.client, None) is hi2_filter(store.client, MetadataFilters(filters=[])) is None


@pytest.mark.parametrize(
    ("key", "operator", "value", "said"),
    [
        ("n", O.IN, 1, "'filters' parameter must be a list for the operator 'in'. Got 1"),
        ("s", O.TEXT_MATCH, 1, "a string for the operator 'text_match'. Got 1"),
        ("n", O.GT, "a", "a comparison that the values of 'n' know. Got 'a' for 1"),
        ("n", O.TEXT_MATCH, "a", "a comparison that the values of 'n' know"),
        ("n", O.CONTAINS, 1, "a comparison that the values of 'n' know"),
    ],
)
def test_filters_that_make_no_sense_are_refused(store, key, operator, value, said):
    filters = MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])
    with pytest.raises(hi2.InvalidParameter, match=said):
        found(store, MetadataFilters(filters=[filters]))
