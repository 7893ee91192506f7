"""What do users call their documents? Integers or strings: one kind per index, every id once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2 import _native
from hi2.data.given_array import entries
from hi2.data.ragged import Ragged
from hi2.errors import described, invalid
from hi2.types import I64, U64, Array, Id

#: Longer integers are not read from text; no id has as many digits.
_MAX_DIGITS = 100


@dataclass(frozen=True)
class IdColumn:
    """Ids in arrival order: an int64 array, or a ragged column of UTF-8."""

    values: I64 | Ragged

    @property
    def kind(self) -> str:
        """'int' or 'str'."""
        return "str" if isinstance(self.values, Ragged) else "int"

    def __len__(self) -> int:
        return len(self.values)

    def order(self) -> U64:
        """Return the rows in order of their ids."""
        if isinstance(self.values, Ragged):
            return _native.sort_strings(self.values.ends, self.values.data)
        return np.argsort(self.values, kind="stable").astype(np.uint64)

    def take(self, rows: Array) -> IdColumn:
        """Return some rows as a column of their own."""
        return IdColumn(self.values.take(rows) if isinstance(self.values, Ragged) else self.values[rows])

    def next_integer(self) -> int:
        """Return the integer after the largest id; 0 for strings."""
        return 0 if isinstance(self.values, Ragged) or not len(self) else int(self.values.max()) + 1

    def as_list(self) -> list[Id]:
        """Return the ids as Python objects."""
        if isinstance(self.values, Ragged):
            return [row.decode() for row in self.values.rows()]
        return [int(value) for value in self.values]

    @classmethod
    def concatenate(cls, columns: Sequence[IdColumn]) -> IdColumn:
        """Return the columns one after another."""
        ragged = [column.values for column in columns if isinstance(column.values, Ragged)]
        if ragged:
            return cls(Ragged.concatenate(ragged))
        return cls(np.concatenate([column.values for column in columns]))


def id_column(ids: Any, *, name: str = "ids") -> IdColumn:
    """Return the caller's ids as a column; they must be all integers (from 0) or all strings, none twice."""
    if isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise invalid(name, "one id per document", f"an array of shape {ids.shape}")
        ids = ids.tolist()
    values = list(entries(ids, name=name, must="a sequence of ids"))
    column = _strings(values, name) if values and isinstance(values[0], str) else _integers(values, name)
    order = column.order()
    rows = column.take(order)
    if isinstance(rows.values, Ragged):
        texts = rows.values.rows()
        repeat = next((i for i in range(1, len(texts)) if texts[i] == texts[i - 1]), None)
    else:
        equal = np.flatnonzero(rows.values[1:] == rows.values[:-1])
        repeat = int(equal[0]) + 1 if len(equal) else None
    if repeat is not None:
        first, second = int(order[repeat - 1]), int(order[repeat])
        raise invalid(name, "unique", f"{described(values[second])} in rows {first} and {second}")
    return column


def _strings(values: list[Any], name: str) -> IdColumn:
    encoded = []
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise invalid(name, "all strings or all integers", f"{described(value)} in row {row} after strings")
        try:
            encoded.append(value.encode())
        except UnicodeEncodeError as error:
            raise invalid(name, "valid Unicode", f"{error.reason} in row {row}") from None
    return IdColumn(Ragged.of(encoded))


def _integers(values: list[Any], name: str) -> IdColumn:
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise invalid(name, "all strings or all integers", f"{described(value)} in row {row}")
        if not 0 <= value < 2**63:
            raise invalid(name, "integers from 0 to 2^63 - 1", f"{described(value)} in row {row}")
    return IdColumn(np.array(values, np.int64))


def check_id(value: Any, *, name: str = "id") -> Id:
    """Return an id in the form it is stored in."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise invalid(name, "a string or an integer", described(value))


def parse_ids(ids: Sequence[str], kind: str | None) -> list[Id]:
    """Return ids that are given as strings in the kind that an index has."""
    given = list(entries(ids, name="ids", must="a list of strings"))
    for id in given:
        if not isinstance(id, str):
            raise invalid("ids", "strings", described(id))
        if kind == "int" and not (id.isascii() and id.isdigit() and len(id) < _MAX_DIGITS):
            raise invalid("ids", "integers, as in this index", described(id))
    return [int(id) for id in given] if kind == "int" else given
