"""What can be filtered on? The payload as columns: one typed array per key, in the order of documents."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

import numpy as np

from hi2.data.ragged import Ragged
from hi2.errors import FormatError, invalid
from hi2.types import I64, Array

#: A payload may have more keys than this, but only the first ones can be filtered on.
MAX_COLUMNS = 256
#: The value of an integer column where a document has none.
NO_INTEGER = -(2**63)


def plain(value: Any) -> Any:
    """Return a date as ISO 8601 text, which sorts as time does, and a numpy number as Python's."""
    if isinstance(value, np.datetime64):
        if not 1 <= value.astype("M8[Y]").astype(int) + 1970 <= 9999:
            raise TypeError(f"the time {value}")
        value = value.astype("datetime64[us]").item() if value.dtype != np.dtype("M8[D]") else value.item()
    if isinstance(value, datetime):  # always with microseconds, so that text sorts as time does
        if value.tzinfo is None:
            return value.isoformat(timespec="microseconds")
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__}")


def kind_of(value: Any) -> str:
    """Return the kind of column a value belongs to; "other" is stored but cannot be filtered on."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if -(2**63) < value < 2**63:
            return "int"
        return "float" if abs(value) < 2**1023 else "other"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "str"
    return "tags" if isinstance(value, list) and all(isinstance(tag, str) for tag in value) else "other"


def _payload(line: bytes) -> Mapping[str, Any]:
    """The payload of a stored line."""
    try:
        found = json.loads(line).get("payload") or {}
        if isinstance(found, dict):
            return found
    except (ValueError, RecursionError, AttributeError) as error:
        raise FormatError(f"The index is damaged: stored.jsonl has a line that is not an object ({error}).") from error
    raise FormatError("The index is damaged: stored.jsonl has a payload that is not an object.")


class _ColumnBuilder:
    """The values of one key so far: rows that have one, and their values or codes of words."""

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind
        self.rows = array("q")
        self.values: Any = array("q")
        self.words: dict[str, int] = {}

    def add(self, row: int, value: Any) -> None:
        kind = kind_of(value)
        if self.kind is None:
            self.kind = kind
            self.values = array("d" if kind == "float" else "q")
        elif self.kind != kind:
            if {self.kind, kind} != {"int", "float"}:
                self.kind = "other"
            elif self.kind == "int":
                self.kind, self.values = "float", array("d", self.values)
        if self.kind == "other":
            return
        for own in value if kind == "tags" else (value,):
            self.rows.append(row)
            self.values.append(self.words.setdefault(own, len(self.words)) if isinstance(own, str) else own)


@dataclass(frozen=True)
class Column:
    """The values of one key: numbers, or codes into sorted ``words``; ``offsets`` where a document has several."""

    name: str
    kind: str
    values: Array
    words: Sequence[str] = ()
    offsets: I64 | None = None

    def known(self) -> Array:
        """Return which documents have a value."""
        known: Array
        if self.kind == "other":
            raise invalid("filter", "on columns of one type", f"'{self.name}', which has several, or nested data")
        if self.offsets is not None:
            known = np.diff(self.offsets) > 0
        elif self.kind == "float":
            known = ~np.isnan(self.values)
        else:
            known = self.values != {"bool": 2, "int": NO_INTEGER, "str": -1}[self.kind]
        return known

    def value(self, doc: int) -> Any:
        """Return one document's value, None without one."""
        if self.kind in ("tags", "other"):
            raise invalid(
                "group_by", f"a column with one value a document; '{self.name}' is {kind_in_words(self.kind)}", None
            )
        value = self.values[doc].item()
        if math.isnan(value) or value == {"bool": 2, "int": NO_INTEGER, "str": -1}.get(self.kind):
            return None
        return self.words[value] if self.kind == "str" else bool(value) if self.kind == "bool" else value


def kind_in_words(kind: str) -> str:
    """Return what values of this kind are called in an error."""
    words = {"bool": "true or false", "int": "numbers", "float": "numbers", "str": "strings", "tags": "tags"}
    return words.get(kind, "of several types")


class Columns:
    """The columns of one segment."""

    def __init__(self, n_docs: int, columns: Iterable[Column]) -> None:
        self.n_docs = n_docs
        self.by_name = {column.name: column for column in columns}

    @classmethod
    def of_lines(cls, lines: Iterable[bytes], docs: I64) -> Columns:
        """Return the columns of stored JSON lines in order of arrival; ``docs`` is the document of every row."""
        builders: dict[str, _ColumnBuilder] = {}
        for row, line in enumerate(lines):
            for name, value in _payload(line).items():
                if value is not None:
                    builders.setdefault(name, _ColumnBuilder("other" if len(builders) >= MAX_COLUMNS else None)).add(
                        row, value
                    )
        return cls(len(docs), [_finish(name, own, docs) for name, own in builders.items()])

    def arrays(self) -> dict[str, Array]:
        """Return what is stored: a list of the columns, and the arrays of each by its number."""
        listed = [{"name": column.name, "kind": column.kind} for column in self.by_name.values()]
        header = json.dumps(listed, ensure_ascii=False).encode()
        stored: dict[str, Array] = {"columns.json": np.frombuffer(header, np.uint8)}
        for number, column in enumerate(self.by_name.values()):
            stored[f"column_{number}.npy"] = column.values
            if column.offsets is not None:
                stored[f"column_{number}_offsets.npy"] = column.offsets
            if column.kind in ("str", "tags"):
                words = Ragged.of([word.encode() for word in column.words])
                stored[f"column_{number}_ends.npy"], stored[f"column_{number}_words.npy"] = words.ends, words.data
        return stored

    @classmethod
    def read(cls, arrays: Mapping[str, Array], n_docs: int) -> Columns:
        """Return the columns that were stored."""
        try:
            listed = json.loads(arrays["columns.json"].tobytes())
            return cls(n_docs, [_read(number, own, arrays, n_docs) for number, own in enumerate(listed)])
        except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
            raise FormatError(f"The index is damaged: its payload columns cannot be read ({error}).") from error


_MISSING = {"bool": (np.uint8, 2), "int": (np.int64, NO_INTEGER), "float": (np.float64, np.nan), "str": (np.int32, -1)}


def _finish(name: str, own: _ColumnBuilder, docs: I64) -> Column:
    rows = np.frombuffer(own.rows, np.int64) if own.rows else np.zeros(0, np.int64)
    if own.kind == "other":
        return Column(name, "other", np.zeros(0, np.uint8))
    values = np.frombuffer(own.values, own.values.typecode) if own.values else np.zeros(0, np.int64)
    words: list[str] = []
    if own.kind in ("str", "tags"):
        words = sorted(own.words)
        place = np.empty(max(len(words), 1), np.int32)
        place[[own.words[word] for word in words]] = np.arange(len(words))
        values = place[values]
    if own.kind == "tags":
        owners = docs[rows]
        order = np.argsort(owners, kind="stable")
        offsets = np.append(0, np.cumsum(np.bincount(owners, minlength=len(docs)))).astype(np.int64)
        return Column(name, "tags", values[order].astype(np.int32), words, offsets)
    dtype, missing = _MISSING[str(own.kind)]
    full = np.full(len(docs), missing, dtype)
    full[docs[rows]] = values
    return Column(name, str(own.kind), full, words)


def _read(number: int, own: Mapping[str, str], arrays: Mapping[str, Array], n_docs: int) -> Column:
    name, kind = str(own["name"]), str(own["kind"])
    values = arrays[f"column_{number}.npy"]
    if kind == "other":
        return Column(name, kind, values)
    words: list[str] = []
    if kind in ("str", "tags"):
        stored = Ragged(arrays[f"column_{number}_ends.npy"], arrays[f"column_{number}_words.npy"])
        if len(stored.ends) and (stored.ends[-1] != len(stored.data) or np.any(stored.ends[1:] < stored.ends[:-1])):
            raise ValueError(f"the words of '{name}' do not fit")
        words = [word.decode() for word in stored.rows()]
    offsets = None
    if kind == "tags":
        offsets = np.asarray(arrays[f"column_{number}_offsets.npy"], np.int64)
        fits = offsets.shape == (n_docs + 1,) and offsets[0] == 0 and offsets[-1] == len(values)
        if not fits or np.any(np.diff(offsets) < 0):
            raise ValueError(f"the tags of '{name}' do not fit")
    elif values.shape != (n_docs,) or values.dtype != _MISSING[kind][0]:
        raise ValueError(f"'{name}' is not one value a document")
    if kind in ("str", "tags") and len(values) and not -1 <= values.min() <= values.max() < len(words):
        raise ValueError(f"'{name}' names words that are not there")
    return Column(name, kind, values, words, offsets)
