"""What can be filtered on? The payload as columns: one typed array per key, in the order of documents.

The keys of objects inside the payload are columns too, by their path: ``author.name``.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

import numpy as np

from hi2.data.ragged import Ragged
from hi2.data.stored_line import read_line
from hi2.errors import FormatError, described, invalid
from hi2.types import I64, Array

#: A payload may have more keys than this, but only the first ones are columns, which can be filtered on.
MAX_COLUMNS = 256
#: Of the keys that are no columns, this many are known by name.
MAX_KNOWN_KEYS = 4096
#: The value of an integer column where a document has none.
NO_INTEGER = -(2**63)
_LARGEST_INTEGER = 2**63 - 1
#: Between the keys of a path, in the name of a column; a dot may be part of a key.
SEPARATOR = "\x1f"
#: The kinds of columns that hold several values a document.
LISTS = ("tags", "numbers")


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
    for types, kind in ((bool, "bool"), (float, "float"), (str, "str")):
        if isinstance(value, types):
            return kind
    if isinstance(value, int):
        return "int" if -(2**63) < value < 2**63 else "float" if abs(value) < 2**1023 else "other"
    if not isinstance(value, list):
        return "other"
    known = [own for own in value if own is not None]  # null fits all, in a list too
    strings = all(isinstance(own, str) for own in known)
    return "tags" if strings else "numbers" if all(_is_number(own) for own in known) else "other"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and kind_of(value) != "other"


def leaves(payload: Mapping[str, Any], free: Set[str] = frozenset()) -> Iterator[tuple[str, Any]]:
    """Yield the values of a payload that are not null, by the names of their columns; objects by their keys' paths.

    An object in a ``free`` column is one value.
    """
    waiting = list(payload.items())[::-1]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping) and name not in free:
            waiting.extend([(f"{name}{SEPARATOR}{key}", own) for key, own in value.items()][::-1])
        elif value is not None:
            yield name, value


def shown_name(name: str) -> str:
    """Return the name of a column as people write it: the keys of a path with dots between.

    Where there are several, a key that has dots itself is in backquotes.
    """
    keys = name.split(SEPARATOR)
    return ".".join(f"`{key}`" if "." in key and len(keys) > 1 else key for key in keys)


#: The kinds of values that their type alone decides; JSON has no other types of these.
_KIND_OF_TYPE = {bool: "bool", float: "float", str: "str"}


class _ColumnBuilder:
    """The values of one key so far: rows that have one, and their values or codes of words."""

    def __init__(self, *, lists: bool = True, free: bool = False) -> None:
        self.kind: str | None = "other" if free else None
        #: Whether lists of numbers are a kind of their own, and empty lists of none; before version 4 they were not.
        self._lists = lists
        self.rows = array("q")
        self.values: Any = array("q")
        self.words: dict[str, int] = {}

    def add(self, row: int, value: Any) -> None:
        if self.kind == "other":
            return
        if self._lists and type(value) is list:
            value = [own for own in value if own is not None]
            if not value:
                return
        if type(value) is int and NO_INTEGER < value <= _LARGEST_INTEGER:
            kind = "int"
        else:
            kind = _KIND_OF_TYPE.get(type(value)) or kind_of(value)
            kind = "other" if kind == "numbers" and not self._lists else kind
        if self.kind != kind and not self._admit(kind):
            return
        if kind == "str":
            value = self.words.setdefault(value, len(self.words))
        elif kind == "tags":
            self.rows.extend([row] * len(value))
            self.values.extend([self.words.setdefault(tag, len(self.words)) for tag in value])
            return
        elif kind == "numbers":
            self.rows.extend([row] * len(value))
            self.values.extend(value)
            return
        self.rows.append(row)
        self.values.append(value)

    def _admit(self, kind: str) -> bool:
        """Become the kind that also holds values of another; return whether there is one."""
        if self.kind is None and kind != "other":
            self.kind = kind
            self.values = array("d" if kind in ("float", "numbers") else "q")
        elif {self.kind, kind} != {"int", "float"}:
            self.kind = "other"
            self.rows, self.values, self.words = array("q"), array("q"), {}
        elif kind == "float":
            self.kind, self.values = "float", array("d", self.values)
        return self.kind != "other"


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
            must = "on columns that can be filtered on"
            raise invalid("filter", must, f"'{shown_name(self.name)}', which has several types, or lists of objects,")
        if self.offsets is not None:
            known = np.diff(self.offsets) > 0
        elif self.kind == "float":
            known = ~np.isnan(self.values)
        else:
            known = self.values != {"bool": 2, "int": NO_INTEGER, "str": -1}[self.kind]
        return known

    def value(self, doc: int) -> Any:
        """Return one document's value, None without one."""
        if self.kind in (*LISTS, "other"):
            must = f"a column with one value per document; '{shown_name(self.name)}' is {kind_in_words(self.kind)}"
            raise invalid("group_by", must, f"'{shown_name(self.name)}'")
        value = self.values[doc].item()
        if math.isnan(value) or value == {"bool": 2, "int": NO_INTEGER, "str": -1}.get(self.kind):
            return None
        return self.words[value] if self.kind == "str" else bool(value) if self.kind == "bool" else value


def kind_in_words(kind: str) -> str:
    """Return what values of this kind are called in an error."""
    words = {"bool": "true or false", "int": "numbers", "float": "numbers", "str": "strings", "tags": "tags"}
    return words.get(kind, "a list of numbers" if kind == "numbers" else "of several types")


class Columns:
    """The columns of one segment, and what is known of the keys that are no columns.

    ``beyond`` are keys that came after the first ``MAX_COLUMNS``; ``more`` says that there are still others.
    """

    def __init__(
        self,
        n_docs: int,
        columns: Iterable[Column],
        beyond: Iterable[str] = (),
        *,
        more: bool = False,
        paths: bool = True,
        free: Iterable[str] = (),
    ):
        self.n_docs = n_docs
        #: The columns that were declared to hold anything: they are stored, and not filtered on.
        self.free = frozenset(free)
        #: Whether the keys of objects are columns; before version 4 they were not.
        self.paths = paths
        self.by_name = {column.name: column for column in columns}
        self.beyond = tuple(beyond)
        self.more = more
        self._beyond = frozenset(self.beyond)

    def find(self, name: str, parameter: str) -> Column | None:
        """Return a column, None where no document has the key; refuse a key that may have values but is no column."""
        column = self.by_name.get(name)
        if column is None and SEPARATOR in name:
            column = self.by_name.get(name.replace(SEPARATOR, "."))  # a key with dots
        if column is None and (self.more or not self._beyond.isdisjoint((name, name.replace(SEPARATOR, ".")))):
            must = f"about columns: only the first {MAX_COLUMNS} keys of the payload are"
            raise invalid(parameter, must, f"{described(shown_name(name))}, which is not one of them,")
        return column

    @classmethod
    def of_lines(cls, lines: Iterable[bytes], docs: I64, *, free: Set[str] = frozenset()) -> Columns:
        """Return the columns of stored JSON lines in order of arrival; ``docs`` is the document of every row."""
        return cls.of_payloads((read_line(line).get("payload", {}) for line in lines), docs, free=free)

    @classmethod
    def of_payloads(
        cls,
        payloads: Iterable[Mapping[str, Any]],
        docs: I64,
        *,
        paths: bool = True,
        free: Set[str] = frozenset(),
    ) -> Columns:
        """Return the columns of payloads in order of arrival: the first keys that have a value, by first appearance."""
        builders: dict[str, _ColumnBuilder] = {}
        known: dict[str, None] = {}  # the columns, then keys that are none
        more = False
        for row, whole in enumerate(payloads):
            nested = paths and any(type(own) is dict for own in whole.values())
            payload = dict(leaves(whole, free)) if nested else whole
            if not more and not payload.keys() <= known.keys():
                for name, value in payload.items():
                    if value is None or name in known:
                        continue
                    if len(known) < MAX_COLUMNS:
                        builders[name] = _ColumnBuilder(lists=paths, free=name in free)
                    elif len(known) == MAX_COLUMNS + MAX_KNOWN_KEYS:
                        more = True
                        break
                    known[name] = None
            for name in builders.keys() & payload.keys():
                if (value := payload[name]) is not None:
                    builders[name].add(row, value)
        columns = [_finish(name, own, docs) for name, own in builders.items()]
        return cls(len(docs), columns, list(known)[MAX_COLUMNS:], more=more, paths=paths, free=free)

    def difference(self, other: Columns) -> str | None:
        """Return which of the columns another payload's are not equal to, in words; None if all are."""
        mine, its = ([(own.name, own.kind) for own in columns.by_name.values()] for columns in (self, other))
        if (mine, self.beyond, self.more) != (its, other.beyond, other.more):
            return "the keys of the payload, or their kinds"
        for own, theirs in zip(self.by_name.values(), other.by_name.values(), strict=True):
            same = np.array_equal(own.values, theirs.values, equal_nan=own.kind == "float")
            if own.offsets is not None and theirs.offsets is not None:
                same = same and np.array_equal(own.offsets, theirs.offsets)
            if not same or list(own.words) != list(theirs.words):
                return f"the values of {described(own.name)}"
        return None

    def arrays(self) -> dict[str, Array]:
        """Return what is stored: a list of the columns, and the arrays of each by its number."""
        listed = [{"name": column.name, "kind": column.kind} for column in self.by_name.values()]
        content = {"columns": listed, "beyond": self.beyond, "more": self.more}
        if self.paths:
            content["paths"] = True
        if self.free:
            content["free"] = sorted(self.free)
        try:
            header = json.dumps(content, ensure_ascii=False).encode()
            words_by_name = {own.name: [word.encode() for word in own.words] for own in self.by_name.values()}
        except UnicodeEncodeError as error:  # text of callers is checked: this was read from a file
            raise FormatError(f"The index is damaged: stored.jsonl has text that is not Unicode ({error}).") from error
        stored: dict[str, Array] = {"columns.json": np.frombuffer(header, np.uint8)}
        for number, column in enumerate(self.by_name.values()):
            if column.kind == "other":
                continue
            stored[f"column_{number}.npy"] = column.values
            if column.offsets is not None:
                stored[f"column_{number}_offsets.npy"] = column.offsets
            if column.kind in ("str", "tags"):
                words = Ragged.of(words_by_name[column.name])
                stored[f"column_{number}_ends.npy"], stored[f"column_{number}_words.npy"] = words.ends, words.data
        return stored

    @classmethod
    def read(cls, arrays: Mapping[str, Array], n_docs: int) -> Columns:
        """Return the columns that were stored."""
        try:
            listed, beyond, more, paths, free = _read_header(arrays["columns.json"].tobytes())
            columns = [_read(number, name, kind, arrays, n_docs) for number, (name, kind) in enumerate(listed)]
            return cls(n_docs, columns, beyond, more=more, paths=paths, free=free)
        except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
            raise FormatError(f"The index is damaged: its payload columns cannot be read ({error}).") from error


def _read_header(data: bytes) -> tuple[list[tuple[str, str]], list[str], bool, bool, list[str]]:
    """Names and kinds of columns, keys that are none, whether there are more, whether paths are columns, free ones."""
    content = json.loads(data)
    if isinstance(content, list):  # format version 1 lists every key
        names = [own["name"] for own in content[MAX_COLUMNS:]]
        content = {"columns": content[:MAX_COLUMNS], "beyond": names[:MAX_KNOWN_KEYS]}
        content["more"] = len(names) > MAX_KNOWN_KEYS
    listed = [(own["name"], own["kind"]) for own in content["columns"]]
    beyond, more, paths = content["beyond"], content["more"], content.get("paths", False)
    free = content.get("free", [])
    names = [*(name for name, _ in listed), *beyond]
    if not isinstance(free, list) or not all(isinstance(name, str) for name in free):
        raise ValueError("the names of the free columns are not strings")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names) or not isinstance(more, bool):
        raise ValueError("the names of the keys are not strings, each of them once")
    return listed, beyond, more, paths is True, free


_MISSING = {"bool": (np.uint8, 2), "int": (np.int64, NO_INTEGER), "float": (np.float64, np.nan), "str": (np.int32, -1)}


def _finish(name: str, own: _ColumnBuilder, docs: I64) -> Column:
    own.kind = own.kind or "tags"  # there were only empty lists
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
    if own.kind in LISTS:
        owners = docs[rows]
        order = np.argsort(owners, kind="stable")
        offsets = np.append(0, np.cumsum(np.bincount(owners, minlength=len(docs)))).astype(np.int64)
        kind = np.int32 if own.kind == "tags" else np.float64
        return Column(name, str(own.kind), values[order].astype(kind), words, offsets)
    dtype, missing = _MISSING[str(own.kind)]
    full = np.full(len(docs), missing, dtype)
    full[docs[rows]] = values
    return Column(name, str(own.kind), full, words)


def _read(number: int, name: str, kind: str, arrays: Mapping[str, Array], n_docs: int) -> Column:
    if kind == "other":
        return Column(name, kind, np.zeros(0, np.uint8))
    values = arrays[f"column_{number}.npy"]
    words: list[str] = []
    if kind in ("str", "tags"):
        stored = Ragged(arrays[f"column_{number}_ends.npy"], arrays[f"column_{number}_words.npy"])
        if len(stored.ends) and (stored.ends[-1] != len(stored.data) or np.any(stored.ends[1:] < stored.ends[:-1])):
            raise ValueError(f"the words of '{name}' do not fit")
        words = [word.decode() for word in stored.rows()]
    offsets = None
    if kind in LISTS:
        offsets = np.asarray(arrays[f"column_{number}_offsets.npy"], np.int64)
        fits = offsets.shape == (n_docs + 1,) and offsets[0] == 0 and offsets[-1] == len(values)
        if not fits or np.any(np.diff(offsets) < 0) or values.dtype != (np.int32 if kind == "tags" else np.float64):
            raise ValueError(f"the lists of '{name}' do not fit")
    elif values.shape != (n_docs,) or values.dtype != _MISSING[kind][0]:
        raise ValueError(f"'{name}' is not one value per document")
    if kind in ("str", "tags") and len(values) and not -1 <= values.min() <= values.max() < len(words):
        raise ValueError(f"'{name}' names words that are not there")
    return Column(name, kind, values, words, offsets)
