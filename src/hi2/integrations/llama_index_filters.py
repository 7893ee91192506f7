"""How are the metadata filters of LlamaIndex answered by an index?

They become a filter over columns. What columns cannot tell (a part of a string, a key with values of several types) is
decided by LlamaIndex's own rules, document by document.
"""

from __future__ import annotations

from typing import Any

from hi2.errors import MissingExtra, described, invalid
from hi2.index import HybridIndex
from hi2.integrations.conditions import Condition, Conditions, NotInColumns, all_of, any_of, negated, selected
from hi2.integrations.metadata import KeyPath, from_payload

try:
    from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
    from llama_index.core.vector_stores.utils import build_metadata_filter_fn
except ImportError as error:
    raise MissingExtra("LlamaIndex is not installed; install it with: pip install 'hi2[llama-index]'") from error

_ORDERINGS = (FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE)
_NEGATIVE = {FilterOperator.NE: FilterOperator.EQ, FilterOperator.NIN: FilterOperator.IN}
_SEVERAL = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)
_TEXT = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)


def hi2_filter(index: HybridIndex, filters: MetadataFilters | None) -> Any:
    """Return metadata filters as a filter of the index."""
    if filters is None or not filters.filters:
        return None
    _check(filters)
    return selected(
        index,
        lambda conditions: _translated(conditions, filters),
        lambda stored: _matches(from_payload(stored.get("payload", {})), filters),
    )


def _check(filters: MetadataFilters) -> None:
    for own in filters.filters:
        if isinstance(own, MetadataFilters):
            _check(own)
        elif own.operator in _SEVERAL and not isinstance(own.value, list):
            raise invalid("filters", f"a list for the operator '{own.operator.value}'", described(own.value))
        elif own.operator in _TEXT and not isinstance(own.value, str):
            raise invalid("filters", f"a string for the operator '{own.operator.value}'", described(own.value))


def _translated(conditions: Conditions, filters: MetadataFilters) -> Condition:
    parts = [
        _translated(conditions, own)
        if isinstance(own, MetadataFilters)
        else _compared(conditions, (own.key,), own.operator, own.value)
        for own in filters.filters
    ]
    if filters.condition == FilterCondition.OR:
        return any_of(parts)
    return negated(any_of(parts)) if filters.condition == FilterCondition.NOT else all_of(parts)


def _compared(conditions: Conditions, path: KeyPath, operator: FilterOperator, value: Any) -> Condition:
    """One comparison. A node without a value meets only "not equal", "not in" and "is empty"."""
    if operator in _NEGATIVE:
        return negated(_compared(conditions, path, _NEGATIVE[operator], value))
    if operator == FilterOperator.IS_EMPTY:
        empty = conditions.equal(path, "") if conditions.kind(path) == "str" else False
        return any_of([negated(conditions.exists(path)), empty])
    if value is None or conditions.kind(path) is None:
        return False
    return _compared_with(conditions, path, operator, value)


def _compared_with(conditions: Conditions, path: KeyPath, operator: FilterOperator, value: Any) -> Condition:
    if operator in (FilterOperator.ANY, FilterOperator.ALL):
        parts = [conditions.contains(path, own) for own in value]
        if not parts:  # a list has all of none, but not every value is a list
            raise NotInColumns
        return any_of(parts) if operator == FilterOperator.ANY else all_of(parts)
    if operator == FilterOperator.IN:
        return conditions.one_of(path, value)
    if operator == FilterOperator.EQ:
        return conditions.equal(path, value)
    if operator == FilterOperator.CONTAINS:
        return conditions.contains(path, value)
    if operator in _ORDERINGS:
        return conditions.ordered(path, operator.value, value)
    raise NotInColumns  # a part of a text


def _matches(metadata: dict[str, Any], filters: MetadataFilters) -> bool:
    """Whether metadata meets filters that may be inside each other."""
    parts = (
        _matches(metadata, own) if isinstance(own, MetadataFilters) else _meets(metadata, own)
        for own in filters.filters
    )
    if filters.condition == FilterCondition.OR:
        return any(parts)
    return not any(parts) if filters.condition == FilterCondition.NOT else all(parts)


def _meets(metadata: dict[str, Any], condition: MetadataFilter) -> bool:
    try:
        return bool(build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[condition]))(""))
    except TypeError as error:
        must = f"a comparison that the values of '{condition.key}' know"
        raise invalid(
            "filters", must, f"{described(condition.value)} for {described(metadata[condition.key])}"
        ) from error
