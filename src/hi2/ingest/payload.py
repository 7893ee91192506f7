"""What is stored of a document beside its lists? Its text and its payload, as one line of JSON.

A payload is one mapping per document, or a table: a pandas DataFrame, an Arrow table, or a mapping of columns. What is
missing in a table, and NaN anywhere, is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hi2.data.given_array import entries
from hi2.errors import InvalidParameter, described, invalid
from hi2.filters.column_types import ColumnTypes
from hi2.filters.columns import plain

#: Mappings and lists of a payload are at most this deep inside each other, so that every reader of JSON can read them.
MAX_PAYLOAD_DEPTH = 100
_SCALARS = {str, int, float, bool, type(None)}
_MUST = "one mapping per document, a DataFrame, an Arrow table or a mapping of columns"


def payload_rows(payload: Any) -> Iterator[Any]:
    """Return an iterator over the mappings of a payload, in whatever form it is given."""
    if hasattr(payload, "to_pylist") and hasattr(payload, "schema"):  # an Arrow table or batch
        return iter(payload.to_pylist())
    if hasattr(payload, "columns") and hasattr(payload, "itertuples"):  # a pandas DataFrame
        columns = [str(name) for name in payload.columns]
        return _mappings(columns, [_without_missing(payload.iloc[:, i]) for i in range(len(columns))])
    if isinstance(payload, Mapping):
        values = [list(entries(own, name="payload", must=_MUST)) for own in payload.values()]
        if len({len(own) for own in values}) > 1:
            got = ", ".join(f"{described(name)} with {len(own)}" for name, own in zip(payload, values, strict=True))
            raise invalid("payload", "columns of one length", got)
        return _mappings(list(payload), values)
    return entries(payload, name="payload", must=_MUST)


def _mappings(names: Sequence[Any], columns: Sequence[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _without_missing(series: Any) -> list[Any]:
    """The values of a pandas column, None where there is none."""
    return [None if missing else value for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)]


class StoredLines:
    """Makes the line of each document in turn: its text if that is kept, and its payload if there is one."""

    def __init__(self, payload: Any, types: ColumnTypes, id_of: Callable[[int], object]) -> None:
        self._rows = None if payload is None else payload_rows(payload)
        self._types = types
        self._id_of = id_of

    @property
    def has_payload(self) -> bool:
        """Whether documents have a payload."""
        return self._rows is not None

    def line(self, text: str | None, row: int) -> bytes:
        """Return the line of the next document."""
        stored: dict[str, Any] = {} if text is None else {"text": text}
        if self._rows is not None:
            stored["payload"] = self._payload(row)
        try:
            return to_line(stored)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise invalid("payload", "JSON data and valid Unicode text", f"{error} in row {row}") from error

    def _payload(self, row: int) -> dict[str, Any]:
        value = next(self._rows, None) if self._rows is not None else None
        if value is None or not isinstance(value, Mapping):
            raise invalid("payload", "one mapping per document", f"{described(value)} in row {row}")
        payload = checked_payload(value, f"row {row}")
        self._types.admit(payload, f"document {described(self._id_of(row))} (row {row})")
        return payload

    def finish(self, n_docs: int) -> None:
        """Refuse a payload of more documents than there are."""
        if self._rows is not None and next(self._rows, None) is not None:
            said = f"must have one entry per document ({n_docs}). Got more."
            raise InvalidParameter(f"The 'payload' parameter {said}")


def to_line(stored: Mapping[str, Any]) -> bytes:
    """Return what is stored of a document as a line of JSON."""
    return (json.dumps(stored, ensure_ascii=False, allow_nan=False) + "\n").encode()


def checked_payload(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a payload as plain data: dates as text, numbers of numpy as Python's, NaN as None; refuse other things."""
    checked: dict[str, Any] = _plain(value, (where,), ())
    return checked


def _plain(value: Any, where: tuple[str, ...], inside: tuple[int, ...]) -> Any:
    """A value as plain data; ``where`` are the document and the key of its payload that it is under."""
    kind = type(value)
    if kind is float:
        return None if math.isnan(value) else value
    if kind in _SCALARS:
        return value
    if not isinstance(value, (Mapping, list, tuple)):
        try:
            converted = plain(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise invalid("payload", "JSON data and valid Unicode text", f"{error} in {_place(where)}") from error
        return None if isinstance(converted, float) and math.isnan(converted) else converted
    if len(inside) == MAX_PAYLOAD_DEPTH or id(value) in inside:
        got = "one inside itself" if id(value) in inside else "deeper ones"
        raise invalid("payload", f"mappings and lists at most {MAX_PAYLOAD_DEPTH} deep", f"{got} in {_place(where)}")
    inside = (*inside, id(value))
    if not isinstance(value, Mapping):
        return [_plain(own, where, inside) for own in value]
    for key in value:
        if not isinstance(key, str):
            raise invalid("payload", "mappings with string keys", f"{described(key)} in {_place(where)}")
    if len(where) == 1:
        return {key: _plain(own, (*where, key), inside) for key, own in value.items()}
    return {key: _plain(own, where, inside) for key, own in value.items()}


def _place(where: tuple[str, ...]) -> str:
    """A place in a payload, as an error names it."""
    return where[0] if len(where) == 1 else f"{described(where[1])} of {where[0]}"
