"""Is this argument valid? The checks that all public functions share."""

from __future__ import annotations

import math
import numbers
import operator
import os
from dataclasses import fields
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from hi2.errors import described, invalid

#: The largest k of a search: the hits of a batch are (n, k) arrays however few documents there are.
MAX_K = 1 << 24
#: The most hits of a batch, n times k; they take 12 bytes each.
MAX_HITS = 1 << 30
#: The largest vocabulary: postings are sorted as integers with 24 bits for the term.
MAX_TERMS = 1 << 24


def integer(name: str, value: SupportsIndex, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int within [low, high]."""
    must = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool):
        raise invalid(name, must, repr(value))
    try:
        number = operator.index(value)
    except TypeError:
        raise invalid(name, must, described(value)) from None
    if number < low or (high is not None and number > high):
        raise invalid(name, must, number)
    return number


def check_hits(n_queries: int, k: int) -> None:
    """Refuse a batch whose hits would be too many."""
    if n_queries * k > MAX_HITS:
        raise invalid("k", f"at most {MAX_HITS // n_queries} for {n_queries} queries (split the batch for more)", k)


def real(name: str, value: float, *, low: float, high: float) -> float:
    """Return ``value`` as a float within [low, high]."""
    must = f"a number from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise invalid(name, must, described(value))
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        number = math.nan
    if not low <= number <= high:
        raise invalid(name, must, value)
    return number


def folder_path(name: str, value: Any) -> Path:
    """Return ``value`` as the absolute path of a folder; it stays the same wherever the process goes."""
    try:
        path = Path(value).absolute()
        os.fsencode(path)  # a lone surrogate is in no name
    except (TypeError, ValueError):
        raise invalid(name, "the path of a folder", described(value)) from None
    if not path.name or "\0" in str(path):
        raise invalid(name, "the path of a folder with a name", described(value))
    return path


def boolean(name: str, value: Any) -> bool:
    """Return ``value`` as True or False."""
    if not isinstance(value, (bool, int, np.bool_)):
        raise invalid(name, "True or False", described(value))
    return bool(value)


def normalise_integers(spec: Any, **bounds: tuple[int, int | None]) -> None:
    """Check the integer fields of a frozen spec and store them as plain ints; None stays None if it is the default."""
    defaults = {field.name: field.default for field in fields(spec)}
    for name, (low, high) in bounds.items():
        value = getattr(spec, name)
        if value is not None or defaults[name] is not None:
            object.__setattr__(spec, name, integer(name, value, low=low, high=high))


def thread_count(threads: int | None) -> int:
    """Return the number of threads to use: the given one, or one for every core this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return integer("threads", threads, low=1, high=1024)
