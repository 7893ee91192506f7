"""What can a filter say? Comparisons of payload columns, joined by and, or and not.

>>> print((column("year") >= 2020) & ~column("draft").exists())
(year >= 2020 and not draft exists)
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np

from hi2.errors import InvalidParameter, invalid
from hi2.filters.columns import Column, Columns, plain
from hi2.filters.comparison import compare, compare_any
from hi2.types import Array

#: A column's name that needs no quotes, and the words that are never one.
NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
WORDS = {"and", "or", "not", "in", "contains", "exists", "true", "false"}


class Expression(ABC):
    """A condition on a document. Combine conditions with ``&``, ``|`` and ``~``."""

    @abstractmethod
    def flags(self, columns: Columns) -> Array:
        """Return one boolean per document of a segment: whether the condition holds."""

    @abstractmethod
    def names(self) -> set[str]:
        """Return the columns it refers to."""

    @abstractmethod
    def render(self) -> str:
        """Return the condition as text that ``parse`` reads."""

    @cached_property
    def text(self) -> str:
        """The condition as text, rendered once: results are cached by it."""
        return self.render()

    def __str__(self) -> str:
        return self.text

    def __and__(self, other: Expression) -> Expression:
        return join(And, self, _expression(other))

    def __or__(self, other: Expression) -> Expression:
        return join(Or, self, _expression(other))

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

    def flags(self, columns: Columns) -> Array:
        """Return which documents compare like this; those without a value never do."""
        column = columns.by_name.get(self.name)
        if column is None:
            return np.zeros(columns.n_docs, bool)
        if self.op == "exists":
            return column.known()
        if self.op != "in":
            return compare(column, self.op, self.value, str(self))
        return compare_any(column, self.value, str(self))

    def names(self) -> set[str]:
        """Return the one column."""
        return {self.name}

    def render(self) -> str:
        """Return the condition as text."""
        name = self.name if NAME.fullmatch(self.name) and self.name.lower() not in WORDS else f"`{self.name}`"
        if self.op == "exists":
            return f"{name} exists"
        if self.op == "==" and self.value is True:
            return name
        if self.op == "in":
            return f"{name} in ({', '.join(map(_literal, self.value))})"
        return f"{name} {self.op} {_literal(self.value)}"


@dataclass(frozen=True, eq=False)
class Joined(Expression):
    """Several conditions joined by one word."""

    parts: tuple[Expression, ...]
    word: ClassVar[str]
    join: ClassVar[Any]

    def flags(self, columns: Columns) -> Array:
        """Return which documents meet the joined conditions."""
        found: Array = reduce(type(self).join, (part.flags(columns) for part in self.parts))
        return found

    def names(self) -> set[str]:
        """Return the columns of all conditions."""
        return set().union(*(part.names() for part in self.parts))

    def render(self) -> str:
        """Return the condition as text."""
        return f"({f' {self.word} '.join(map(str, self.parts))})"


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

    def flags(self, columns: Columns) -> Array:
        """Return the documents that do not meet the inner condition."""
        return ~self.inner.flags(columns)

    def names(self) -> set[str]:
        """Return the columns of the inner condition."""
        return self.inner.names()

    def render(self) -> str:
        """Return the condition as text."""
        return f"not {self.inner}"


class ColumnName:
    """A payload column to compare: ``hi2.column("year") >= 2020``."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name or "`" in name:
            raise invalid("name", "a column's name, without backquotes", repr(name))
        self._name = name

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

    def contains(self, tag: str) -> Expression:
        """Return the condition that a document's tags include this one."""
        return self._compared("contains", tag)

    def isin(self, values: Iterable[Any]) -> Expression:
        """Return the condition that the value, or one of the tags, is among these."""
        return Comparison(self._name, "in", tuple(_value(value) for value in values))

    def exists(self) -> Expression:
        """Return the condition that a document has a value."""
        return Comparison(self._name, "exists")

    def _compared(self, op: str, value: Any) -> Expression:
        return Comparison(self._name, op, _value(value))


def column(name: str) -> ColumnName:
    """Return a payload column to compare in a filter."""
    return ColumnName(name)


def check_columns(expression: Expression, segments: Sequence[Columns]) -> None:
    """Refuse an expression over a column that no document has."""
    known = {name for columns in segments for name in columns.by_name}
    missing = sorted(expression.names() - known)
    if missing:
        listed = ", ".join(sorted(known)) or "none: no document has a payload"
        raise invalid("filter", f"over columns of the payload ({listed})", f"'{missing[0]}' in {expression}")


def join(kind: type[Joined], left: Expression, right: Expression) -> Expression:
    """Return both sides as one expression; a side that is joined by the same word is not nested."""
    parts = [part for side in (left, right) for part in (side.parts if isinstance(side, kind) else (side,))]
    return kind(tuple(parts))


def _expression(value: object) -> Expression:
    if not isinstance(value, Expression):
        raise invalid("filter", "an expression on both sides of & and |; put comparisons in brackets", repr(value))
    return value


def _value(value: Any) -> Any:
    if isinstance(value, (date, np.generic)):
        value = plain(value)
    if not isinstance(value, (bool, int, float, str)) or (isinstance(value, float) and math.isnan(value)):
        raise invalid("filter", "a comparison with a number, a string, a boolean or a date", repr(value))
    return value


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return json.dumps(value)


def read_column(columns: Sequence[Columns], name: str) -> list[Column | None]:
    """Return one column of every segment, None where no document there has it; refuse one that nobody has."""
    found = [own.by_name.get(name) for own in columns]
    if not any(found):
        known = sorted({key for own in columns for key in own.by_name})
        raise invalid("group_by", f"a column of the payload ({', '.join(known) or 'there is none'})", f"'{name}'")
    return found
