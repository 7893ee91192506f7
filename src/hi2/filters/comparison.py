"""What does an operator mean for a column? Numbers, strings, booleans and tags each compare in their own way."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np

from hi2.errors import invalid
from hi2.filters.columns import MAX_COLUMNS, Column, kind_in_words
from hi2.types import Array

#: What a column of each kind may be compared with.
_TAKES: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int, float), "float": (int, float), "str": (str,)}


def compare(column: Column, op: str, value: Any, where: str) -> Array:
    """Return which documents compare like this; one without a value never does. ``where`` is named in errors."""
    if column.kind == "other":
        raise invalid(
            "filter",
            f"on columns of one type; '{column.name}' has several, nested data, or {MAX_COLUMNS} columns before it",
            where,
        )
    if column.kind == "tags":
        return _compare_tags(column, op, value, where)
    if op == "contains" or (op not in ("==", "!=") and column.kind == "bool"):
        raise invalid("filter", f"a comparison that '{column.name}' ({kind_in_words(column.kind)}) knows", where)
    if not isinstance(value, _TAKES[column.kind]) or (isinstance(value, bool) and column.kind != "bool"):
        raise invalid("filter", f"a comparison of '{column.name}' with {kind_in_words(column.kind)}", where)
    if column.kind != "str":
        compared: Array = _compare_numbers(column.values, op, value) & column.known()
        return compared
    begin = bisect.bisect_left(column.words, str(value))
    end = begin + (begin < len(column.words) and column.words[begin] == value)
    inside = (column.values >= begin) & (column.values < end)
    known = column.known()
    found = {
        "==": inside,
        "!=": ~inside,
        "<": column.values < begin,
        "<=": column.values < end,
        ">": column.values >= end,
        ">=": column.values >= begin,
    }[op]
    matched: Array = found & known
    return matched


def compare_any(column: Column, values: Sequence[Any], where: str) -> Array:
    """Return which documents have one of these values, or one of these tags."""
    if column.kind in ("tags", "other", "bool") or not values:
        found = np.zeros(len(column.values) if column.offsets is None else len(column.offsets) - 1, bool)
        for value in values:
            found |= compare(column, "contains" if column.kind == "tags" else "==", value, where)
        return found
    for value in values:
        if not isinstance(value, _TAKES[column.kind]) or isinstance(value, bool):
            raise invalid("filter", f"a comparison of '{column.name}' with {kind_in_words(column.kind)}", where)
    if column.kind == "str":
        places = [bisect.bisect_left(column.words, value) for value in values]
        wanted: Any = [
            at for at, v in zip(places, values, strict=True) if at < len(column.words) and column.words[at] == v
        ]
    else:
        wanted = [number for value in values if (number := _as_stored(value, column.kind)) is not None]
    among: Array = np.isin(column.values, np.array(wanted, column.values.dtype)) & column.known()
    return among


def _as_stored(value: int | float, kind: str) -> int | float | None:
    """Return a number as a column of this kind stores it; None if it cannot."""
    if kind == "float":
        return float(value) if abs(value) < 2**1023 else None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if -(2**63) < value < 2**63 else None


def _compare_tags(column: Column, op: str, value: Any, where: str) -> Array:
    if op != "contains" or not isinstance(value, str):
        raise invalid("filter", f"contains with a string: '{column.name}' holds tags", where)
    at = bisect.bisect_left(column.words, value)
    hits = column.values == at if at < len(column.words) and column.words[at] == value else np.zeros(len(column.values))
    counts = np.append(0, np.cumsum(hits))
    offsets = column.offsets if column.offsets is not None else np.zeros(1, np.int64)
    tagged: Array = counts[offsets[1:]] > counts[offsets[:-1]]
    return tagged


def _compare_numbers(values: Array, op: str, value: Any) -> Array:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value) if abs(value) < 10**300 else np.inf * (1 if value > 0 else -1)
    with np.errstate(invalid="ignore"):
        compare = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater}
        compared: Array = compare.get(op, np.greater_equal)(values, value)
        return compared
