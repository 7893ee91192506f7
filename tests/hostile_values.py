"""Values that no parameter expects: every public method answers them, or refuses them by an error of its own."""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy as np


class BadRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class BadArray:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")


class BadIteration:
    def __iter__(self) -> Any:
        return 5


def nested(depth: int) -> list[Any]:
    """Return lists inside each other."""
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def inside_itself(kind: type) -> Any:
    """Return a list or a dict that contains itself."""
    found = kind()
    if isinstance(found, dict):
        found["a"] = found
    else:
        found.append(found)
    return found


def values() -> dict[str, Any]:
    """Return the values by name, made anew: some are used up by a call."""
    return {
        "None": None,
        "5": 5,
        "-1": -1,
        "2**62": 2**62,
        "2**63": 2**63,
        "10**5000": 10**5000,
        "-10**5000": -(10**5000),
        "1.5": 1.5,
        "nan": float("nan"),
        "-inf": -float("inf"),
        "True": True,
        "text": "abc",
        "no text": "",
        "surrogate": "\ud800",
        "bytes": b"ab",
        "list": [1, 2],
        "no list": [],
        "texts": ["a", "b"],
        "mixed": ["a", 1],
        "ragged": [[1], [1, 2]],
        "bools and a list": [True, [1, 2]],
        "huge list": [10**5000],
        "set": {1},
        "dict": {"a": 1},
        "inside itself": inside_itself(list),
        "dict inside itself": inside_itself(dict),
        "deep": nested(100_000),
        "object": object(),
        "class": int,
        "function": len,
        "generator": (x for x in [1]),
        "iterator": iter([]),
        "fraction": fractions.Fraction(1, 3),
        "decimal": decimal.Decimal("1e400"),
        "complex": 1j,
        "date": datetime.date(2020, 1, 1),
        "array": np.arange(3),
        "0-d array": np.array(3.0),
        "3-d array": np.zeros((1, 2, 3)),
        "array of objects": np.array([object()]),
        "array of texts": np.array(["a", "b"]),
        "array of bools": np.array([True, False]),
        "structured": np.zeros(3, dtype=[("a", "i4")]),
        "masked": np.ma.array([1.0, 2.0], mask=[0, 1]),
        "numpy nan": np.float32("nan"),
        "NaT": np.datetime64("NaT"),
        "...": ...,
        "bad repr": BadRepr(),
        "bad array": BadArray(),
        "bad iteration": BadIteration(),
    }
