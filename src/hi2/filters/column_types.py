"""Which type has each column of an index? One, so that a filter means the same for all documents.

Integers become floats where a column has both, and null fits all. A column that is declared ``other`` takes anything
and cannot be filtered on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hi2.errors import InvalidParameter, described, invalid
from hi2.filters.columns import MAX_COLUMNS, MAX_KNOWN_KEYS, Columns, kind_of, leaves, shown_name
from hi2.filters.expression import path_of

#: The types that a column may be declared to have, and how an error calls their values.
KINDS = {
    "bool": "true or false",
    "int": "integers",
    "float": "numbers",
    "str": "strings",
    "tags": "lists of strings",
    "numbers": "lists of numbers",
    "other": "anything",
}
_OTHER = "other"
#: What a value is that no filter reads, in a column that was not declared.
_OBJECTS = "objects"
_NAMES = KINDS | {_OBJECTS: "values that no filter reads, such as lists of objects"}
#: Of more names, which are no columns anyway, nothing is remembered.
_MOST = MAX_COLUMNS + MAX_KNOWN_KEYS


class ColumnTypes:
    """The type of each column so far. ``admit`` takes the payload of one more document, or refuses it."""

    def __init__(self, kinds: Mapping[str, str] | None = None) -> None:
        self._kinds = dict(kinds or {})

    @property
    def kinds(self) -> dict[str, str]:
        """The type of each column, by the name that a filter has for it."""
        return {shown_name(name): _OTHER if kind == _OBJECTS else kind for name, kind in self._kinds.items()}

    @classmethod
    def of(cls, declared: Mapping[str, str], segments: Iterable[Columns]) -> ColumnTypes:
        """Return the types that documents have, and those that were declared."""
        kinds: dict[str, str] = {}
        for columns in segments:
            for name, column in columns.by_name.items():
                if column.offsets is not None and not len(column.values):
                    continue  # empty lists say nothing
                # Before version 4 a column might hold anything; since then only lists of objects and the like.
                kind = _OBJECTS if column.kind == _OTHER and columns.paths else column.kind
                kinds[name] = _joined(kinds.get(name), kind) or _OTHER
        return cls({**kinds, **declared})

    @property
    def free(self) -> frozenset[str]:
        """The columns that were declared to hold anything."""
        return frozenset(name for name, kind in self._kinds.items() if kind == _OTHER)

    def mismatch(self, payload: Mapping[str, Any]) -> str | None:
        """Return what keeps a payload out, in words; None if it fits. Then the types are those of it too."""
        new: dict[str, str] = {}
        for name, value in leaves(payload, self.free):
            known = self._kinds.get(name)
            if known == _OTHER or _is_empty(value) or (known is None and len(self._kinds) >= _MOST):
                continue
            kind = kind_of(value)
            kind = _OBJECTS if kind == _OTHER else kind
            joined = _joined(known, kind)
            if joined is None:
                both = f"{_article(kind)} ({described(value)}), and the column holds {_NAMES[str(known)]}"
                return f"'{shown_name(name)}' is {both}"
            new[name] = joined
        self._kinds.update(new)
        return None

    def admit(self, payload: Mapping[str, Any], document: str) -> None:
        """Take the payload of one more document, or refuse it in the name of the document."""
        wrong = self.mismatch(payload)
        if wrong is not None:
            raise InvalidParameter(
                f"The 'payload' parameter must have one type per column: {wrong}, in {document}. Fix it, or declare "
                "the column free when the index is made: columns={name: 'other'}."
            )


def declared_columns(columns: Any) -> dict[str, str]:
    """Return the columns that a caller declares, by the names they are stored under."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise invalid("columns", "a mapping from columns to their types", described(columns))
    for name, kind in columns.items():
        if not isinstance(name, str) or not isinstance(kind, str) or kind not in KINDS:
            must = f"a mapping from columns to types ({', '.join(KINDS)})"
            raise invalid("columns", must, f"{described(kind)} for {described(name)}")
    return {path_of(name): kind for name, kind in columns.items()}


def _joined(known: str | None, kind: str) -> str | None:
    """The type that has values of both; None if there is none."""
    if known is None or known == kind:
        return kind
    return "float" if {known, kind} == {"int", "float"} else None


def _is_empty(value: Any) -> bool:
    """Whether a value is a list that says nothing of its type."""
    return isinstance(value, list) and all(own is None for own in value)


def _article(kind: str) -> str:
    one = {"bool": "a boolean", "int": "an integer", "float": "a float", "str": "a string"}
    one |= {"tags": "a list of strings", "numbers": "a list of numbers"}
    return one.get(kind, "a value that no filter reads")
