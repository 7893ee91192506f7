"""What can a filter say? Comparisons of payload columns, joined by and, or and not.

>>> print((column("year") >= 2020) & ~column("draft").exists())
(year >= 2020 and not draft exists)
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from hi2.data.given_array import entries
from hi2.data.lazy import lazy
from hi2.errors import LONGEST_VALUE, InvalidParameter, described, invalid
from hi2.filters.columns import SEPARATOR, Column, Columns, plain, shown_name
from hi2.filters.comparison import as_float, compare, compare_any
from hi2.types import Array

#: A key that needs no quotes, and the words that are never one.
NAME = re.compile(r"[^\W\d]\w*")
WORDS = {"and", "or", "not", "in", "contains", "exists", "true", "false"}
#: Conditions are at most this deep inside each other, so that every one can be read back from its text.
MAX_DEPTH = 100
#: An error names at most this many columns.
MAX_LISTED = 30
TOO_DEEP = f"at most {MAX_DEPTH} brackets and nots inside each other"


class Expression(ABC):
    """A condition on a document. Combine conditions with ``&``, ``|`` and ``~``."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """How many conditions are inside each other."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """The conditions it is made of."""

    @abstractmethod
    def flags(self, columns: Columns) -> Array:
        """Return one boolean per document of a segment: whether the condition holds."""

    @abstractmethod
    def write(self, out: list[str]) -> None:
        """Append the condition as text that ``parse`` reads, in pieces."""

    @lazy
    def text(self) -> str:
        """The condition as text, rendered once: results are cached by it."""
        out: list[str] = []
        self.write(out)
        return "".join(out)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons it is made of."""
        waiting: list[Expression] = [self]
        while waiting:
            own = waiting.pop()
            if isinstance(own, Comparison):
                yield own
            waiting.extend(reversed(own.parts))

    def names(self) -> set[str]:
        """Return the columns it refers to."""
        return {own.name for own in self.comparisons()}

    def __str__(self) -> str:
        return self.text

    def __and__(self, other: Expression) -> Expression:
        return And((self, _expression(other)))

    def __or__(self, other: Expression) -> Expression:
        return Or((self, _expression(other)))

    def __invert__(self) -> Expression:
        return Not(self)

    def __bool__(self) -> bool:
        raise InvalidParameter("An expression has no truth of its own: use & | ~ instead of and, or, not.")


@dataclass(frozen=True, eq=False)
class Comparison(Expression):
    """A column compared with a value; ``in`` compares with several values, ``exists`` with none."""

    name: str
    op: str
    value: Any = None

    @property
    def depth(self) -> int:
        """One."""
        return 1

    @property
    def parts(self) -> tuple[Expression, ...]:
        """None: it is not made of others."""
        return ()

    def flags(self, columns: Columns) -> Array:
        """Return which documents compare like this; those without a value never do."""
        column = columns.find(self.name, "filter")
        if column is None:
            return np.zeros(columns.n_docs, bool)
        if self.op == "exists":
            return column.known()
        if self.op != "in":
            return compare(column, self.op, self.value, self.text)
        return compare_any(column, self.value, self.text)

    def write(self, out: list[str]) -> None:
        """Append the comparison as text."""
        name = ".".join(map(_quoted, self.name.split(SEPARATOR)))
        if self.op == "exists":
            out.append(f"{name} exists")
        elif self.op == "==" and self.value is True:
            out.append(name)
        elif self.op == "in":
            out.append(f"{name} in ({', '.join(map(_literal, self.value))})")
        else:
            out.append(f"{name} {self.op} {_literal(self.value)}")


@dataclass(frozen=True, eq=False)
class Joined(Expression):
    """Several conditions joined by one word. Joining is cheap: sides are looked into when the parts are needed."""

    sides: tuple[Expression, ...]
    word: ClassVar[str]
    join: ClassVar[Any]

    def __post_init__(self) -> None:
        _check_depth(self)

    @lazy
    def depth(self) -> int:
        """How many conditions are inside each other; a side joined by the same word is not inside."""
        return max(side.depth + (type(side) is not type(self)) for side in self.sides)

    @lazy
    def parts(self) -> tuple[Expression, ...]:
        """The conditions in order; those of a side joined by the same word are not nested."""
        found: list[Expression] = []
        waiting: list[Expression] = [self]
        while waiting:
            own = waiting.pop()
            if isinstance(own, Joined) and type(own) is type(self):
                waiting.extend(reversed(own.sides))
            else:
                found.append(own)
        return tuple(found)

    def flags(self, columns: Columns) -> Array:
        """Return which documents meet the joined conditions."""
        found: Array = reduce(type(self).join, (part.flags(columns) for part in self.parts))
        return found

    def write(self, out: list[str]) -> None:
        """Append the conditions as text, in brackets."""
        for number, part in enumerate(self.parts):
            out.append(f" {self.word} " if number else "(")
            part.write(out)
        out.append(")")


class And(Joined):
    """All conditions hold."""

    word = "and"
    join = np.logical_and


class Or(Joined):
    """At least one condition holds."""

    word = "or"
    join = np.logical_or


@dataclass(frozen=True, eq=False)
class Not(Expression):
    """Another condition does not hold; this includes documents without a value."""

    inner: Expression

    def __post_init__(self) -> None:
        _check_depth(self)

    @lazy
    def depth(self) -> int:
        """How many conditions are inside each other."""
        return self.inner.depth + 1

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The inner condition."""
        return (self.inner,)

    def flags(self, columns: Columns) -> Array:
        """Return the documents that do not meet the inner condition."""
        return ~self.inner.flags(columns)

    def write(self, out: list[str]) -> None:
        """Append the condition as text."""
        out.append("not ")
        self.inner.write(out)


class ColumnName:
    """A payload column to compare: ``hi2.column("year") >= 2020``. Dots lead into objects: ``"author.name"``."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name or "`" in path_of(name):
            raise invalid("name", "a column's name; backquotes stand around a key with a dot", described(name))
        self._name = path_of(name)

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]
        return self._compared("==", value)

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]
        return self._compared("!=", value)

    def __lt__(self, value: Any) -> Expression:
        return self._compared("<", value)

    def __le__(self, value: Any) -> Expression:
        return self._compared("<=", value)

    def __gt__(self, value: Any) -> Expression:
        return self._compared(">", value)

    def __ge__(self, value: Any) -> Expression:
        return self._compared(">=", value)

    def contains(self, value: str | float) -> Expression:
        """Return the condition that a document's list of strings or numbers has this value."""
        return self._compared("contains", value)

    def isin(self, values: Iterable[Any]) -> Expression:
        """Return the condition that the value, or one of the tags, is among these."""
        given = entries(values, name="values", must="a list of values")
        return Comparison(self._name, "in", tuple(comparable(value) for value in given))

    def exists(self) -> Expression:
        """Return the condition that a document has a value."""
        return Comparison(self._name, "exists")

    def _compared(self, op: str, value: Any) -> Expression:
        return Comparison(self._name, op, comparable(value))


def column(name: str) -> ColumnName:
    """Return a payload column to compare in a filter; ``author.name`` is the key of an object, or a key with a dot."""
    return ColumnName(name)


_KEYS = re.compile(r"(?:`[^`]+`|[^.`]+)(?:\.(?:`[^`]+`|[^.`]+))*")
_KEY = re.compile(r"`([^`]+)`|([^.`]+)")


def path_of(name: str) -> str:
    """Return the name of the column that a name with dots means; a key that has them itself can be in backquotes.

    >>> path_of("author.name").split(SEPARATOR), path_of("sizes.`a.b`").split(SEPARATOR)
    (['author', 'name'], ['sizes', 'a.b'])
    """
    if not _KEYS.fullmatch(name):
        return name
    return SEPARATOR.join(quoted or plain for quoted, plain in _KEY.findall(name))


def _quoted(key: str) -> str:
    return key if NAME.fullmatch(key) and key.lower() not in WORDS else f"`{key}`"


def check_columns(expression: Expression, segments: Sequence[Columns]) -> None:
    """Refuse an expression over a key that no document has, or that is no column in one of the segments."""
    for name in sorted(expression.names()):
        found = [columns.find(name, "filter") for columns in segments]
        if not any(found):
            listed = _listed(segments) or "none: no document has a payload"
            got = f"'{_cut(shown_name(name))}' in {_cut(expression.text)}"
            raise invalid("filter", f"over columns of the payload ({listed})", got)


def _listed(segments: Sequence[Columns]) -> str:
    """The names of the columns, as an error lists them."""
    names = sorted({shown_name(name) for columns in segments for name in columns.by_name})
    shown = ", ".join(map(_cut, names[:MAX_LISTED]))
    return shown if len(names) <= MAX_LISTED else f"{shown} and {len(names) - MAX_LISTED} more"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _check_depth(expression: Expression) -> None:
    if expression.depth > MAX_DEPTH:
        raise invalid("filter", TOO_DEEP, expression.depth)


def _expression(value: object) -> Expression:
    if not isinstance(value, Expression):
        raise invalid("filter", "an expression on both sides of & and |; put comparisons in brackets", described(value))
    return value


def comparable(value: Any) -> Any:
    """Return what a column can be compared with. An integer beyond every float is infinite: no column has as much."""
    given = value
    if isinstance(value, (date, np.generic)):
        try:
            value = plain(value)
        except (TypeError, ValueError, OverflowError):  # not a time, or one beyond the calendar
            value = None
    if not isinstance(value, (bool, int, float, str)) or (isinstance(value, float) and math.isnan(value)):
        raise invalid("filter", "a comparison with a number, a string, a boolean or a date", described(given))
    if isinstance(value, int) and math.isinf(as_float(value)):
        return as_float(value)
    return value


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return json.dumps(value)


def read_column(columns: Sequence[Columns], name: str, parameter: str = "group_by") -> list[Column | None]:
    """Return one column of every segment, None where no document there has it; refuse one that nobody has."""
    found = [own.find(path_of(name), parameter) for own in columns]
    if not any(found):
        raise invalid(parameter, f"a column of the payload ({_listed(columns) or 'there is none'})", f"'{_cut(name)}'")
    return found
