"""What does an operator mean for a column? Numbers, strings, booleans and tags each compare in their own way."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hi2.errors import InvalidParameter, invalid
from hi2.filters.columns import Column, kind_in_words, shown_name
from hi2.types import Array

#: What a column of each kind may be compared with.
_TAKES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int, float),
    "float": (int, float),
    "str": (str,),
    "tags": (str,),
    "numbers": (int, float),
}


def compare(column: Column, op: str, value: Any, where: str) -> Array:
    """Return which documents compare like this; one without a value never does. ``where`` is named in errors."""
    if column.kind == "other":
        must = f"on columns that can be filtered on; '{_name(column)}' has several types, or lists of objects"
        raise invalid("filter", must, where)
    if column.offsets is not None:
        return _compare_lists(column, op, value, where)
    if op == "contains" or (op not in ("==", "!=") and column.kind == "bool"):
        raise invalid("filter", f"a comparison that '{_name(column)}' ({kind_in_words(column.kind)}) knows", where)
    if not isinstance(value, _TAKES[column.kind]) or (isinstance(value, bool) and column.kind != "bool"):
        raise invalid("filter", f"a comparison of '{_name(column)}' with {kind_in_words(column.kind)}", where)
    if column.kind != "str":
        own: Any = _compare_integers if column.kind == "int" else _compare_numbers
        compared: Array = own(column.values, op, value) & column.known()
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
    if not values:
        return np.zeros(len(column.values) if column.offsets is None else len(column.offsets) - 1, bool)
    if column.kind in ("other", "bool"):
        found: Array = np.logical_or.reduce([compare(column, "==", value, where) for value in _distinct(values)])
        return found
    takes = _TAKES.get(column.kind, (str,))
    for value in values:
        if not isinstance(value, takes) or isinstance(value, bool):
            if column.offsets is not None:
                raise _not_in_a_list(column, where)
            raise invalid("filter", f"a comparison of '{_name(column)}' with {kind_in_words(column.kind)}", where)
    if column.kind in ("str", "tags"):
        wanted: Any = [at for value in values if (at := _place(column.words, value)) is not None]
    else:
        wanted = [number for value in values if (number := _as_stored(value, column.kind)) is not None]
    among: Array = np.isin(column.values, np.array(wanted, column.values.dtype))
    if column.offsets is not None:
        return _any_per_document(among, column.offsets)
    among &= column.known()
    return among


def _name(column: Column) -> str:
    return shown_name(column.name)


def as_float(value: float) -> float:
    """Return a number as the nearest float; an integer beyond all of them is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Each value once; true and 1 are two."""
    return list({(type(value), value): value for value in values}.values())


def _place(words: Sequence[str], word: str) -> int | None:
    """Where a word is among sorted words; None if it is not."""
    at = bisect.bisect_left(words, word)
    return at if at < len(words) and words[at] == word else None


def _as_stored(value: float, kind: str) -> float | None:
    """Return a number as a column of this kind stores it; None if it cannot."""
    if kind in ("float", "numbers"):
        return as_float(value)
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if -(2**63) < value < 2**63 else None


def _not_in_a_list(column: Column, where: str) -> InvalidParameter:
    own, other = ("a string", "tags") if column.kind == "tags" else ("a number", "lists of numbers")
    return invalid("filter", f"contains with {own}: '{_name(column)}' holds {other}", where)


def _compare_lists(column: Column, op: str, value: Any, where: str) -> Array:
    """Whether each document's list contains a value."""
    fits = isinstance(value, _TAKES[column.kind]) and not isinstance(value, bool)
    if op != "contains" or not fits:
        raise _not_in_a_list(column, where)
    wanted = as_float(value) if column.kind == "numbers" else _place(column.words, value)
    hits: Array = np.equal(column.values, -1 if wanted is None else wanted)
    return _any_per_document(hits, column.offsets if column.offsets is not None else np.zeros(1, np.int64))


def _any_per_document(hits: Array, offsets: Array) -> Array:
    """Whether one of the tags of each document is a hit."""
    counts = np.append(0, np.cumsum(hits))
    tagged: Array = counts[offsets[1:]] > counts[offsets[:-1]]
    return tagged


_COMPARE = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _compare_numbers(values: Array, op: str, value: float) -> Array:
    """Compare as floats: a column of floats holds every number as the nearest one."""
    with np.errstate(invalid="ignore"):
        compared: Array = _COMPARE[op](values, as_float(value) if values.dtype == np.float64 else value)
        return compared


def _compare_integers(values: Array, op: str, value: float) -> Array:
    """Compare exactly, which a conversion to floats would not: they differ beyond 2⁵³."""
    if not -(2**63) < value < 2**63:
        always = ("!=", "<", "<=") if value > 0 else ("!=", ">", ">=")
        return np.full(len(values), op in always)
    if op in ("==", "!=") and value != math.floor(value):
        return np.full(len(values), op == "!=")
    bound = math.ceil(value) if op in ("<", ">=") else math.floor(value)
    compared: Array = _COMPARE[op](values, bound)
    return compared
