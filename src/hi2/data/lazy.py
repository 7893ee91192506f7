"""What is computed when it is first needed? A property that keeps its value, without a lock.

``functools.cached_property`` holds a lock up to Python 3.11. A process that is forked while another thread computes a
value would wait for that lock for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - a decorator
    """A property computed once per object; threads may compute it at the same time, but all get the same value.

    >>> class Circle:
    ...     radius = 2
    ...     @lazy
    ...     def area(self) -> int:
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12, {'area': 12})
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[Value] | Value:
        if instance is None:
            return self
        return cast(Value, vars(instance).setdefault(self._name, self._compute(instance)))
