"""How is a filter read from text? By recursive descent; an error points at the place.

>>> print(parse("lang in ('en', 'de') and not draft"))
(lang in ('en', 'de') and not draft)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hi2.errors import InvalidParameter, invalid
from hi2.filters.columns import SEPARATOR
from hi2.filters.expression import MAX_DEPTH, TOO_DEEP, WORDS, And, Comparison, Expression, Not, Or, comparable

#: Longer texts are refused.
MAX_LENGTH = 100_000
#: Integers of more digits are read as floats, which are then infinite.
MAX_DIGITS = 400

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<op>==|!=|<=|>=|<|>|=|\(|\)|,)"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<name>(?:[^\W\d]\w*|`[^`]+`)(?:\.(?:[^\W\d]\w*|`[^`]+`))*))",
    re.DOTALL,
)
#: Longer texts take megabytes as expressions, so few of these are kept.
_SHORT = 2000
_KEY = re.compile(r"`([^`]+)`|([^\W\d]\w*)")
_SPACE = re.compile(r"\s*")
_INTEGER = re.compile(rf"[-+]?\d{{1,{MAX_DIGITS}}}")


def parse(text: str) -> Expression:
    """Return the expression that a text describes; an error points at the place.

    Comparisons are ``== != < <= > >=``, ``in (…)``, ``not in (…)``, ``contains`` for lists, ``exists``, and the name of
    a boolean column by itself; they combine with ``and``, ``or``, ``not`` and brackets. Dates are ISO 8601 strings.
    A dot leads into an object (``author.name``); a key with dots or spaces stands between backquotes.
    """
    return (_parsed if len(text) <= _SHORT else _parsed_long)(text)


@lru_cache(256)
def _parsed(text: str) -> Expression:
    return _Parser(text).whole()


@lru_cache(4)
def _parsed_long(text: str) -> Expression:
    return _Parser(text).whole()


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
        found = self._or()
        if self._peek() is not None:
            raise self._error("and, or, or the end")
        return found

    def _read(self) -> Iterable[_Token]:
        at = 0
        end = len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                at = _SPACE.match(self._text, at).end()  # type: ignore[union-attr]
                what = "a closing quote" if self._text[at] in "'\"`" else "a column, a value or an operator"
                raise self._error(what, at)
            kind = str(match.lastgroup)
            text = match[kind]
            begin = match.start(kind)
            if kind == "name" and text.lower() in WORDS:
                kind, text = "word", text.lower()
            elif kind == "name":
                text = SEPARATOR.join(quoted or bare for quoted, bare in _KEY.findall(text))
            yield _Token(kind, text, begin)
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
        said = f"The 'filter' parameter must have {wanted} at character {place + 1}. Got {found}."
        return InvalidParameter(f"{said}\n  {line}\n  {mark}")

    def _or(self) -> Expression:
        sides: list[Expression] = []
        while True:
            parts = [self._not()]
            while self._take("and"):
                parts.append(self._not())
            sides.append(parts[0] if len(parts) == 1 else self._nested(And, tuple(parts)))
            if not self._take("or"):
                return sides[0] if len(sides) == 1 else self._nested(Or, tuple(sides))

    def _nested(self, kind: Callable[[Any], Expression], inner: Any) -> Expression:
        try:
            return kind(inner)
        except InvalidParameter:
            raise self._error(TOO_DEEP) from None

    def _not(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(TOO_DEEP)
        found = self._nested(Not, self._not()) if self._take("not") else self._condition()
        self._depth -= 1
        return found

    def _condition(self) -> Expression:
        if self._take("("):
            found = self._or()
            if not self._take(")"):
                raise self._error("a closing bracket")
            return found
        token = self._peek()
        if token is not None and token.kind in ("string", "number"):
            value = self._value()
            if not self._take("in"):
                raise self._error("'in' and a column of tags after a value; a comparison begins with its column")
            return Comparison(self._name(), "contains", value)
        return self._comparison(self._name())

    def _comparison(self, name: str) -> Expression:
        if self._take("exists"):
            return Comparison(name, "exists")
        if self._take("contains"):
            return Comparison(name, "contains", self._value())
        if self._take("in"):
            return Comparison(name, "in", self._values())
        following = [(token.kind, token.text) for token in self._tokens[self._next : self._next + 2]]
        if following == [("word", "not"), ("word", "in")]:
            self._next += 2
            return self._nested(Not, Comparison(name, "in", self._values()))
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
        values: list[Any] = []
        while not self._peek(")"):
            values.append(self._value())
            if not self._take(","):
                break
        if not self._take(")"):
            raise self._error("a comma or a closing bracket")
        return tuple(values)

    def _value(self) -> Any:
        token = self._peek()
        truth = self._peek("true", "false")
        if token is None or not (token.kind in ("string", "number") or truth):
            raise self._error("a number, a quoted string, true or false")
        self._next += 1
        if token.kind == "string":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        if token.kind == "number":
            return comparable(int(token.text) if _INTEGER.fullmatch(token.text) else float(token.text))
        return token.text == "true"
