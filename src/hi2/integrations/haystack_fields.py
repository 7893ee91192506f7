"""What can be said of the metadata of Haystack documents? Its fields, their types, ranges and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Metadata = Mapping[str, Any]

_TYPE_NAMES = {bool: "boolean", int: "long", float: "float", str: "keyword", list: "list", dict: "object"}


def fields_info(documents: Iterable[Metadata]) -> dict[str, dict[str, str]]:
    """Return the type of every field: boolean, long, float, keyword, list or object; mixed if there are several."""
    types: dict[str, set[str]] = {}
    for metadata in documents:
        for name, value in metadata.items():
            types.setdefault(name, set())
            if value is not None:
                types[name].add(_TYPE_NAMES[type(value)])
    return {name: {"type": _common_type(own)} for name, own in types.items()}


def _common_type(types: set[str]) -> str:
    if types == {"long", "float"}:
        return "float"
    return next(iter(types)) if len(types) == 1 else "mixed" if types else "null"


def min_max(documents: Iterable[Metadata], field: str) -> dict[str, Any]:
    """Return the smallest and the largest value of a field: of its numbers, or of its strings if it has none."""
    values = [own for own in _values(documents, field) if not isinstance(own, bool)]
    comparable: list[Any] = [own for own in values if isinstance(own, (int, float))]
    comparable = comparable or [own for own in values if isinstance(own, str)]
    return {"min": min(comparable, default=None), "max": max(comparable, default=None)}


def unique_values(
    documents: Iterable[Metadata], field: str, search_term: str | None, begin: int, size: int | None
) -> tuple[list[Any], int]:
    """Return the distinct values of a field from ``begin`` on, and how many there are. Each list element is a value.

    The number 1, 1.0, "1" and true are distinct. A ``search_term`` must be a part of the value as text.
    """
    known = _distinct(documents, field)
    if search_term:
        term = search_term.lower()
        known = {key: own for key, own in known.items() if term in str(own).lower()}
    ordered = sorted(known.values(), key=lambda own: (isinstance(own, str), type(own).__name__, own))
    return ordered[begin : None if size is None else begin + size], len(ordered)


def count_unique(documents: Iterable[Metadata], fields: Iterable[str]) -> dict[str, int]:
    """Return how many distinct values each field has."""
    own = list(documents)
    return {_without_prefix(field): len(_distinct(own, field)) for field in fields}


def _distinct(documents: Iterable[Metadata], field: str) -> dict[tuple[type, Any], Any]:
    found: dict[tuple[type, Any], Any] = {}
    for value in _values(documents, field):
        for own in value if isinstance(value, list) else [value]:
            if isinstance(own, (bool, int, float, str)):
                found.setdefault((type(own), own), own)
    return found


def _values(documents: Iterable[Metadata], field: str) -> Iterable[Any]:
    name = _without_prefix(field)
    return (own[name] for own in documents if own.get(name) is not None)


def _without_prefix(field: str) -> str:
    return field.removeprefix("meta.")
