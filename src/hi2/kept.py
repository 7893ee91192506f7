"""What was worked out before, the most recent of it: a small cache that threads share."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")
#: So many results are kept; the one that was not asked for longest goes first.
MOST = 64


class Kept(Generic[Value]):
    """Results by name.

    >>> kept = Kept()
    >>> kept.put("year >= 2020", 3), kept.get("year >= 2020"), kept.get("draft")
    (3, 3, None)
    """

    def __init__(self) -> None:
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> Value | None:
        """Return what is kept under a name, None if nothing is."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: str, value: Value) -> Value:
        """Keep a result and return it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > MOST:
                self._values.popitem(last=False)
        return value
