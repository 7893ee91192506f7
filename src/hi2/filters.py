"""Which documents may be found? Expressions over payload columns, as text or as Python objects.

>>> str(column("year") >= 2020) == str(parse("year >= 2020"))
True
>>> print(parse("lang in ('en', 'de') and not draft"))
(lang in ('en', 'de') and not draft)
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, reduce
from typing import Any, ClassVar

import numpy as np

from hi2.columns import Column, Columns, plain
from hi2.errors import InvalidParameter, invalid
from hi2.types import Array

#: Deeper brackets and longer texts are refused.
MAX_DEPTH, MAX_LENGTH = 100, 100_000


class Expression(ABC):
    """Something that is true or false of a document. Combine with ``&``, ``|`` and ``~``."""

    @abstractmethod
    def flags(self, columns: Columns) -> Array:
        """Return which documents of a segment it is true of."""

    @abstractmethod
    def names(self) -> set[str]:
        """Return the columns it asks for."""

    def __and__(self, other: Expression) -> Expression:
        return _joined(Both, self, _expression(other))

    def __or__(self, other: Expression) -> Expression:
        return _joined(Either, self, _expression(other))

    def __invert__(self) -> Expression:
        return Not(self)

    def __bool__(self) -> bool:
        raise InvalidParameter("An expression has no truth of its own: use & | ~ instead of and, or, not.")


@dataclass(frozen=True, eq=False)
class Comparison(Expression):
    """A column's value against a given one; ``in`` against several, ``exists`` against none."""

    name: str
    op: str
    value: Any = None

    def flags(self, columns: Columns) -> Array:
        """Return which documents compare so; never those without a value."""
        column = columns.by_name.get(self.name)
        if column is None:
            return np.zeros(columns.n_docs, bool)
        if self.op == "exists":
            return column.known()
        if self.op != "in":
            return column.matches(self.op, self.value, str(self))
        return column.among(self.value, str(self))

    def names(self) -> set[str]:
        """Return the one column."""
        return {self.name}

    def __str__(self) -> str:
        name = self.name if _NAME.fullmatch(self.name) and self.name.lower() not in _WORDS else f"`{self.name}`"
        if self.op == "exists":
            return f"{name} exists"
        if self.op == "==" and self.value is True:
            return name
        if self.op == "in":
            return f"{name} in ({', '.join(map(_literal, self.value))})"
        return f"{name} {self.op} {_literal(self.value)}"


@dataclass(frozen=True, eq=False)
class Joined(Expression):
    """Expressions side by side, joined by one word."""

    parts: tuple[Expression, ...]
    word: ClassVar[str]
    join: ClassVar[Any]

    def flags(self, columns: Columns) -> Array:
        """Return which documents they are true of together."""
        found: Array = reduce(type(self).join, (part.flags(columns) for part in self.parts))
        return found

    def names(self) -> set[str]:
        """Return the columns of all."""
        return set().union(*(part.names() for part in self.parts))

    def __str__(self) -> str:
        return f"({f' {self.word} '.join(map(str, self.parts))})"


class Both(Joined):
    """True where all are."""

    word = "and"
    join = np.logical_and


class Either(Joined):
    """True where at least one is."""

    word = "or"
    join = np.logical_or


@dataclass(frozen=True, eq=False)
class Not(Expression):
    """True where another is not, so also of documents without a value."""

    inner: Expression

    def flags(self, columns: Columns) -> Array:
        """Return the other documents."""
        return ~self.inner.flags(columns)

    def names(self) -> set[str]:
        """Return the columns of what is denied."""
        return self.inner.names()

    def __str__(self) -> str:
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
        """Return that a document's tags hold this one."""
        return self._compared("contains", tag)

    def isin(self, values: Iterable[Any]) -> Expression:
        """Return that the value, or one of the tags, is among these."""
        return Comparison(self._name, "in", tuple(_value(value) for value in values))

    def exists(self) -> Expression:
        """Return that a document has a value."""
        return Comparison(self._name, "exists")

    def _compared(self, op: str, value: Any) -> Expression:
        return Comparison(self._name, op, _value(value))


def column(name: str) -> ColumnName:
    """Return a payload column to compare in a filter."""
    return ColumnName(name)


def parse(text: str) -> Expression:
    """Return the expression a text says; an error names the place.

    Comparisons are ``== != < <= > >=``, ``in (…)``, ``not in (…)``, ``contains`` for tags, ``exists``, and a column of
    booleans alone; they combine with ``and``, ``or``, ``not`` and brackets. Dates are ISO 8601 strings.
    """
    return _parsed(text)


@lru_cache(256)
def _parsed(text: str) -> Expression:
    return _Parser(text).whole()


def check_columns(expression: Expression, segments: Sequence[Columns]) -> None:
    """Refuse an expression over a column that no document has."""
    known = {name for columns in segments for name in columns.by_name}
    missing = sorted(expression.names() - known)
    if missing:
        listed = ", ".join(sorted(known)) or "none: no document has a payload"
        raise invalid("filter", f"over columns of the payload ({listed})", f"'{missing[0]}' in {expression}")


def _joined(kind: type[Joined], left: Expression, right: Expression) -> Expression:
    """Both sides as one: what is joined by the same word lies side by side, however much there is of it."""
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


_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<op>==|!=|<=|>=|<|>|=|\(|\)|,)"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*))",
    re.DOTALL,
)
_WORDS = {"and", "or", "not", "in", "contains", "exists", "true", "false"}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Parser:
    """Reads one expression by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        if len(text) > MAX_LENGTH:
            raise invalid("filter", f"at most {MAX_LENGTH:,} characters", f"{len(text):,}")
        self._tokens = list(self._read())
        self._next = 0
        self._depth = 0

    def whole(self) -> Expression:
        found = self._either()
        if self._peek() is not None:
            raise self._error("and, or, or the end")
        return found

    def _read(self) -> Iterable[_Token]:
        at = 0
        end = len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                at += len(self._text[at:]) - len(self._text[at:].lstrip())
                what = "a closing quote" if self._text[at] in "'\"`" else "a column, a value or an operator"
                raise self._error(what, at)
            kind = str(match.lastgroup)
            text = match[kind]
            begin = match.start(kind)
            if kind == "name" and text.lower() in _WORDS:
                kind, text = "word", text.lower()
            yield _Token("name" if kind == "quoted" else kind, text, begin)
            at = match.end()

    def _peek(self, *texts: str) -> _Token | None:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or (texts and (token.text not in texts or token.kind not in ("word", "op"))):
            return None
        return token

    def _take(self, *texts: str) -> _Token | None:
        token = self._peek(*texts)
        self._next += token is not None
        return token

    def _error(self, wanted: str, at: int | None = None) -> InvalidParameter:
        token = self._peek() if at is None else None
        place = at if at is not None else token.at if token is not None else len(self._text)
        found = "the end" if place >= len(self._text.rstrip()) else repr(self._text[place : place + 12])
        line = self._text[max(0, place - 40) : place + 20].replace("\n", " ")
        mark = " " * (place - max(0, place - 40)) + "^"
        said = f"The 'filter' parameter must have {wanted} at character {place + 1}. Got {found} instead."
        return InvalidParameter(f"{said}\n  {line}\n  {mark}")

    def _either(self) -> Expression:
        found = self._both()
        while self._take("or"):
            found = _joined(Either, found, self._both())
        return found

    def _both(self) -> Expression:
        found = self._denied()
        while self._take("and"):
            found = _joined(Both, found, self._denied())
        return found

    def _denied(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"at most {MAX_DEPTH} brackets and nots inside each other")
        found = Not(self._denied()) if self._take("not") else self._one()
        self._depth -= 1
        return found

    def _one(self) -> Expression:
        if self._take("("):
            found = self._either()
            if not self._take(")"):
                raise self._error("a closing bracket")
            return found
        token = self._peek()
        if token is not None and token.kind in ("string", "number"):
            value = self._value()
            if not self._take("in"):
                raise self._error("'in' and a column of tags after a value; a comparison begins with its column")
            return Comparison(self._name(), "contains", value)
        return self._of_column(self._name())

    def _of_column(self, name: str) -> Expression:
        if self._take("exists"):
            return Comparison(name, "exists")
        if self._take("contains"):
            return Comparison(name, "contains", self._value())
        if self._take("in"):
            return Comparison(name, "in", self._values())
        if self._peek("not") and self._next + 1 < len(self._tokens) and self._tokens[self._next + 1].text == "in":
            self._next += 2
            return Not(Comparison(name, "in", self._values()))
        compared = self._take("==", "=", "!=", "<", "<=", ">", ">=")
        if compared is None:
            return Comparison(name, "==", True)
        return Comparison(name, "==" if compared.text == "=" else compared.text, self._value())

    def _name(self) -> str:
        token = self._peek()
        if token is None or token.kind != "name":
            raise self._error("a column")
        self._next += 1
        return token.text

    def _values(self) -> tuple[Any, ...]:
        if not self._take("("):
            raise self._error("an opening bracket")
        values = [self._value()]
        while self._take(","):
            if self._peek(")"):
                break
            values.append(self._value())
        if not self._take(")"):
            raise self._error("a comma or a closing bracket")
        return tuple(values)

    def _value(self) -> Any:
        token = self._peek()
        if token is None or not (token.kind in ("string", "number") or token.text in ("true", "false")):
            raise self._error("a number, a quoted string, true or false")
        self._next += 1
        if token.kind == "string":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        if token.kind == "number":
            return int(token.text) if re.fullmatch(r"[-+]?\d{1,400}", token.text) else float(token.text)
        return token.text == "true"


def read_column(columns: Sequence[Columns], name: str) -> list[Column | None]:
    """Return one column of every segment, None where no document there has it; refuse one that nobody has."""
    found = [own.by_name.get(name) for own in columns]
    if not any(found):
        known = sorted({key for own in columns for key in own.by_name})
        raise invalid("group_by", f"a column of the payload ({', '.join(known) or 'there is none'})", f"'{name}'")
    return found
