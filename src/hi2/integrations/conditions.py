"""How is a condition on metadata written as a filter of an index?

An index refuses a filter over a column that no document has, or that has another type. Frameworks expect that no
document matches. ``Conditions`` knows the columns, so a condition becomes the text of a filter, or True or False. Where
columns cannot tell, every document is read and the framework's own rules decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timezone
from typing import Any

from hi2.errors import InvalidParameter, described, invalid
from hi2.index import HybridIndex
from hi2.integrations.metadata import ASIDE, KeyPath, nested
from hi2.types import Id

Condition = str | bool

#: A longer filter is not written; documents are read one by one.
_MAX_LENGTH = 90_000
#: Larger numbers are left to the framework.
_LARGEST_NUMBER = 1e300
#: How the index says that a key came after the last one that is a column.
_BEYOND = "only the first"
#: A value of each type that a column may have. Integers and floats are one type here.
_EXAMPLES: dict[str, Any] = {"bool": True, "number": 0.5, "str": "", "tags": [""], "numbers": [0.5]}
LISTS = ("tags", "numbers")


class NotInColumns(Exception):
    """A condition that columns cannot decide, so that documents have to be read."""


def selected(
    index: HybridIndex,
    translate: Callable[[Conditions], Condition],
    matches: Callable[[dict[str, Any]], bool],
) -> Any:
    """Return the filter that a framework's condition is: None for all documents, a text, or a list of ids.

    ``translate`` writes it over columns. Where it cannot, ``matches`` is asked about every document, as ``get`` returns
    it.
    """
    try:
        condition = translate(Conditions(index))
        if isinstance(condition, str) and len(condition) > _MAX_LENGTH:
            raise NotInColumns
    except NotInColumns:
        return [own["id"] for batch in index.iterate() for own in batch if matches(own)]
    if isinstance(condition, bool):
        return None if condition else []
    return condition


def both(index: HybridIndex, filter: Any, ids: Sequence[Id] | None) -> Any:
    """Return the filter of what passes a filter and has one of these ids; None stands for all."""
    if ids is None:
        return filter
    wanted = set(ids)
    return list(ids) if filter is None else [id for id in index.ids(filter=filter) if id in wanted]


class Conditions:
    """Writes conditions on the columns of one index. A path has the keys that lead to a value."""

    def __init__(self, index: HybridIndex) -> None:
        self._index = index
        self._kinds: dict[KeyPath, str | None] = {}

    def kind(self, path: KeyPath) -> str | None:
        """Return the type of a column: bool, number, str, tags or numbers; None if no document has a value.

        NotInColumns if documents have values of several types.
        """
        if path not in self._kinds:
            self._kinds[path] = self._kind(path)
        return self._kinds[path]

    def equal(self, path: KeyPath, value: Any) -> Condition:
        """Return the condition that a value equals another, as Python's ``==`` does; None equals a missing value."""
        if value is None:
            return negated(self.exists(path))
        own, kind = _kind_of(value), self.kind(path)
        if kind is not None and kind == own and kind not in LISTS:
            return f"{_name(path)} == {literal(value)}"
        if {kind, own} == {"bool", "number"} or (kind in LISTS and own in LISTS):  # true is 1, and lists may be equal
            raise NotInColumns
        return False

    def ordered(self, path: KeyPath, op: str, value: Any) -> Condition:
        """Return a comparison by ``<``, ``<=``, ``>`` or ``>=``; strings compare as text, so dates as ISO 8601 text."""
        own, kind = _kind_of(value), self.kind(path)
        if kind is None:
            return False
        if kind != own or kind not in ("number", "str"):
            raise NotInColumns
        return f"{_name(path)} {op} {literal(value)}"

    def one_of(self, path: KeyPath, values: Iterable[Any]) -> Condition:
        """Return the condition that a value equals one of several."""
        each = list(values)
        kind = self.kind(path)
        simple = [value for value in each if _kind_of(value) == kind and kind in ("number", "str")]
        others = [self.equal(path, value) for value in each if _kind_of(value) != kind or kind not in ("number", "str")]
        listed = f"{_name(path)} in ({', '.join(map(literal, simple))})" if simple else False
        return any_of([listed, *others])

    def contains(self, path: KeyPath, value: Any) -> Condition:
        """Return the condition that a list has a value; NotInColumns for a column of strings, which may contain it."""
        own, kind = _kind_of(value), self.kind(path)
        if kind is None:
            return False
        if {"tags": "str", "numbers": "number"}.get(kind) != own:
            raise NotInColumns
        return f"{_name(path)} contains {literal(value)}"

    def exists(self, path: KeyPath) -> Condition:
        """Return the condition that there is a value; an empty list is none."""
        return False if self.kind(path) is None else f"{_name(path)} exists"

    def _kind(self, path: KeyPath) -> str | None:
        name = _name(path)
        if self._set_aside(path):
            raise NotInColumns
        fitting = [own for own, value in _EXAMPLES.items() if self._fits(path, value)]
        if len(fitting) == 1:
            return fitting[0]
        try:
            self._index.count(filter=f"{name} exists")
        except InvalidParameter as error:
            if _BEYOND in str(error) or self._is_free(path):
                raise NotInColumns from error
            return None
        return "tags"  # all lists are empty

    def _fits(self, path: KeyPath, value: Any) -> bool:
        return self._index.column_types().mismatch(nested(path, value)) is None

    def _is_free(self, path: KeyPath) -> bool:
        """Whether a column takes anything. Of a column that does not exist, the first value decides the type."""
        types = self._index.column_types()
        return all(types.mismatch(nested(path, _EXAMPLES[own])) is None for own in ("bool", "str"))

    def _set_aside(self, path: KeyPath) -> bool:
        """Whether a document has a value of another type than the column."""
        keys: KeyPath = (ASIDE, "keys")
        if path == keys or self.kind(keys) is None:
            return False
        return self._index.count(filter=f"{_name(keys)} contains {literal('.'.join(path))}") > 0


def all_of(parts: Iterable[Condition]) -> Condition:
    """Return the condition that all hold."""
    return _joined([part for part in parts if part is not True], "and", False)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Return the condition that at least one holds."""
    return _joined([part for part in parts if part is not False], "or", True)


def negated(part: Condition) -> Condition:
    """Return the condition that another does not hold."""
    return not part if isinstance(part, bool) else f"not ({part})"


def _joined(parts: list[Condition], word: str, decides: bool) -> Condition:
    """Conditions joined by a word; ``decides`` is the truth that one of them suffices for."""
    if decides in parts:
        return decides
    if not parts:
        return not decides
    return str(parts[0]) if len(parts) == 1 else f"({f' {word} '.join(map(str, parts))})"


def literal(value: Any) -> str:
    """Return a value as a filter spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (date, str)):
        text = _as_text(value) if isinstance(value, date) else value
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def _as_text(value: date) -> str:
    """A date as the index stores it."""
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _name(path: KeyPath) -> str:
    """A path as a filter spells it; NotInColumns for keys that it cannot spell."""
    if not all(isinstance(key, str) and key and "`" not in key and "\x1f" not in key for key in path):
        raise NotInColumns
    return ".".join(f"`{key}`" for key in path)


def _kind_of(value: Any) -> str:
    """The type of column that has such values."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        if not abs(value) <= _LARGEST_NUMBER:  # NaN is not either
            raise NotInColumns
        return "number"
    if isinstance(value, (str, date)):
        return "str"
    if isinstance(value, list):
        return "tags"  # of what does not matter: lists are compared with no list
    if isinstance(value, dict):
        raise NotInColumns
    if value is None:
        return "none"
    raise invalid("filter", "a comparison with a number, a string, a boolean, a date or a list", described(value))
