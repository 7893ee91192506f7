"""Which values occur? ``np.unique`` hashes, in C++ that aborts the process if the interpreter ends meanwhile."""

from __future__ import annotations

import numpy as np

from hi2.types import Array


def distinct(values: Array) -> Array:
    """Return every value once, rising.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    found: Array = ordered[first]
    return found
