"""How is a filter of Haystack answered by an index?

Comparisons of metadata become a filter over columns. Columns cannot answer some questions: fields that are not
metadata, the equality of lists, keys with values of several types. Haystack's own rules decide these, document by
document.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from hi2.errors import MissingExtra, described
from hi2.index import HybridIndex
from hi2.integrations.conditions import LISTS, Condition, Conditions, NotInColumns, all_of, any_of, negated, selected
from hi2.integrations.metadata import KeyPath

try:
    from haystack.dataclasses import Document
    from haystack.errors import FilterError
    from haystack.utils.filters import document_matches_filter
except ImportError as error:
    raise MissingExtra("Haystack is not installed; install it with: pip install 'hi2[haystack]'") from error

_ORDERINGS = (">", ">=", "<", "<=")
_COMPARISONS = ("==", "!=", "in", "not in", *_ORDERINGS)
_LOGIC = ("AND", "OR", "NOT")
#: Fields of a document that are not metadata.
_FIELDS = ("id", "content", "blob", "score", "embedding", "sparse_embedding", "meta")


def hi2_filter(index: HybridIndex, filters: dict[str, Any] | None, read: Callable[[dict[str, Any]], Document]) -> Any:
    """Return Haystack's filters as a filter of the index; ``read`` makes a document of what is stored of it."""
    if not filters:
        return None
    check_filters(filters)
    return selected(
        index,
        lambda conditions: _translated(conditions, filters),
        lambda stored: document_matches_filter(filters, read(stored)),
    )


def check_filters(filters: Any) -> None:
    """Raise FilterError for filters that are not well formed, even where no document would meet them."""
    if not isinstance(filters, dict):
        raise FilterError(f"Filters must be a mapping. Got {described(filters)}.")
    needed = ("field", "operator", "value") if "field" in filters else ("operator", "conditions")
    for key in needed:
        if key not in filters:
            raise FilterError(f"Filters must have the key '{key}'. Got {described(filters)}.")
    operator = filters["operator"]
    known = _COMPARISONS if "field" in filters else _LOGIC
    if operator not in known:
        raise FilterError(f"The operator of filters must be one of {', '.join(known)}. Got {described(operator)}.")
    if "field" in filters:
        _check_value(operator, filters["value"])
        return
    for condition in filters["conditions"]:
        check_filters(condition)


def _check_value(operator: str, value: Any) -> None:
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"The value of '{operator}' must be a list. Got {described(value)}.")
    if operator in _ORDERINGS and isinstance(value, (list, dict)):
        raise FilterError(f"The value of '{operator}' must be a number or a date. Got {described(value)}.")
    if operator in _ORDERINGS and isinstance(value, str) and not _is_date(value):
        raise FilterError(f"The value of '{operator}' must be a number or an ISO 8601 date. Got {described(value)}.")


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 does not read the Z
    except ValueError:
        return False
    return True


def _translated(conditions: Conditions, filters: dict[str, Any]) -> Condition:
    if "field" in filters:
        return _compared(conditions, _path(filters["field"]), filters["operator"], filters["value"])
    parts = [_translated(conditions, own) for own in filters["conditions"]]
    if filters["operator"] == "OR":
        return any_of(parts)
    return all_of(parts) if filters["operator"] == "AND" else negated(all_of(parts))


def _path(field: str) -> KeyPath:
    """The keys that lead to a value; NotInColumns for a field that is not metadata."""
    first, *rest = field.split(".")
    if first == "meta" and rest:
        return tuple(rest)
    if first in _FIELDS or rest:
        raise NotInColumns
    return (field,)  # a key of the metadata may be given without "meta."


def _compared(conditions: Conditions, path: KeyPath, operator: str, value: Any) -> Condition:
    if operator in ("!=", "not in"):
        return negated(_compared(conditions, path, {"!=": "==", "not in": "in"}[operator], value))
    if operator in _ORDERINGS:
        return False if value is None else _ordered(conditions, path, operator, value)
    values = value if operator == "in" else [value]
    if None in values and conditions.kind(path) in LISTS:  # to a filter an empty list is no value
        raise NotInColumns
    return conditions.one_of(path, values)


def _ordered(conditions: Conditions, path: KeyPath, operator: str, value: Any) -> Condition:
    kind = conditions.kind(path)
    if kind in (*LISTS, "number") and isinstance(value, (str, datetime)):
        raise FilterError(f"A date is compared with dates only. Got {described(value)} for '{'.'.join(path)}'.")
    return conditions.ordered(path, operator, value)
