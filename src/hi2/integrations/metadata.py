"""How is the metadata of a framework stored as a payload, and read back as it was?

A column of a payload has one type, and metadata is any JSON. A value that fits its column is stored under its key, so
that filters find it. Any other value is set aside under ``_other``: ``values`` has it, and ``keys`` says where it was.
What an adapter has to remember of a document beside its metadata is under ``_store``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from hi2.errors import described, invalid
from hi2.index import HybridIndex

ASIDE = "_other"
STORE = "_store"
RESERVED = (ASIDE, STORE)
#: Deeper metadata is left to the index, which refuses it.
_MAX_DEPTH = 100
#: Larger integers are not columns.
_LARGEST_INTEGER = 2**1023

KeyPath = tuple[str, ...]


def to_payloads(
    index: HybridIndex, metadata: Sequence[Mapping[str, Any]], stored: Sequence[Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Return one payload per document that the columns of the index take; ``stored`` is what the adapter remembers."""
    types = index.column_types()  # learns the columns that these documents begin

    def fits(path: KeyPath, value: Any) -> bool:
        if path[0] in RESERVED or not _is_column_value(value):
            return False
        return value is None or types.mismatch(nested(path, _example(value))) is None

    payloads = []
    for own in metadata:
        if not isinstance(own, Mapping):
            raise invalid("metadata", "one mapping per document", described(own))
        moved: list[KeyPath] = []
        payload, aside = _split(own, (), fits, moved)
        if moved:
            payload[ASIDE] = {"keys": [".".join(path) for path in moved], "values": [aside]}
        payloads.append(payload)
    if stored is not None:
        payloads = [{**own, STORE: dict(more)} if more else own for own, more in zip(payloads, stored, strict=True)]
    return payloads


def from_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that was stored as a payload."""
    own = {key: value for key, value in payload.items() if key not in RESERVED}
    aside = payload.get(ASIDE)
    return _joined(own, aside["values"][0]) if aside else own


def stored_by_adapter(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an adapter remembered of a document beside its metadata."""
    return payload.get(STORE) or {}


def changed_payloads(
    index: HybridIndex, before: Sequence[Mapping[str, Any]], change: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the payloads of documents whose metadata gets the keys of ``change``, for ``HybridIndex.update``.

    An update keeps the keys that it is not given: a key that moves aside, or back, is made null.
    """
    metadata = [{**from_payload(own), **change} for own in before]
    after = to_payloads(index, metadata, [stored_by_adapter(own) for own in before])
    return [{**dict.fromkeys(old), **new} for old, new in zip(before, after, strict=True)]


def nested(path: KeyPath, value: Any) -> dict[str, Any]:
    """Return a mapping that has a value at a path.

    >>> nested(("author", "name"), "Ada")
    {'author': {'name': 'Ada'}}
    """
    for key in reversed(path):
        value = {key: value}
    return dict(value)


def _split(
    own: Mapping[str, Any], path: KeyPath, fits: Callable[[KeyPath, Any], bool], moved: list[KeyPath]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that are stored as columns, and the others; ``moved`` gets the paths of these."""
    columns: dict[str, Any] = {}
    aside: dict[str, Any] = {}
    for key, value in own.items():
        inside = (*path, key)
        is_object = isinstance(value, Mapping) and inside[0] not in RESERVED
        if is_object and len(path) < _MAX_DEPTH:
            columns[key], others = _split(value, inside, fits, moved)
            if others:
                aside[key] = others
        elif is_object or not isinstance(key, str) or fits(inside, value):  # the index refuses what is too deep
            columns[key] = value
        else:
            aside[key] = value
            moved.append(inside)
    return columns, aside


def _joined(columns: Mapping[str, Any], aside: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(columns)
    for key, value in aside.items():
        known = both.get(key)
        both[key] = _joined(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return both


def _is_column_value(value: Any) -> bool:
    """Whether a column can hold a value: a scalar, or a list of strings or of numbers."""
    if isinstance(value, (list, tuple)):
        return all(isinstance(own, str) for own in value) or all(_is_number(own) for own in value)
    return value is None or isinstance(value, (bool, str, date, np.generic)) or _is_number(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return not isinstance(value, int) or abs(value) < _LARGEST_INTEGER


def _example(value: Any) -> Any:
    """A value of the type that the index stores this one as: dates are text, numbers of numpy are Python's."""
    if isinstance(value, (date, np.datetime64)):
        return ""
    if isinstance(value, np.generic):
        return value.item()
    return [_example(own) for own in value] if isinstance(value, (list, tuple)) else value
