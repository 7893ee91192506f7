"""What was computed before? A small cache of the most recently used results, shared by threads."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

from hi2.data.fork import make_locks

Value = TypeVar("Value")
#: A cache holds this many results; the least recently used one is dropped first.
MAX_ENTRIES = 64


class LruCache(Generic[Value]):
    """Results by name.

    >>> cache = LruCache()
    >>> cache.put("year >= 2020", 3), cache.get("year >= 2020"), cache.get("draft")
    (3, 3, None)
    """

    def __init__(self) -> None:
        self._values: OrderedDict[str, Value] = OrderedDict()
        make_locks(self)

    def renew_locks(self) -> None:
        """Make the lock. A fork between two steps of ``put`` leaves at most one result too many."""
        self._lock = Lock()

    def get(self, key: str) -> Value | None:
        """Return the result of this name, None if there is none."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: str, value: Value) -> Value:
        """Store a result and return it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > MAX_ENTRIES:
                self._values.popitem(last=False)
        return value
