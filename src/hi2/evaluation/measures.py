"""How much of what matters was found?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np


def recall(found: Sequence[Any], relevant: Collection[Any], *, k: int) -> float:
    """Return the share of the relevant documents among the first ``k`` found.

    >>> recall(["a", "b", "c"], {"a", "c", "d"}, k=2)
    0.3333333333333333
    """
    return len(set(found[:k]) & set(relevant)) / len(relevant) if relevant else 0.0


def mean_recall(found: Sequence[Sequence[Any]], relevant: Sequence[Collection[Any]], *, k: int) -> float:
    """Return the mean recall over queries that have relevant documents."""
    values = [recall(row, wanted, k=k) for row, wanted in zip(found, relevant, strict=True) if wanted]
    return float(np.mean(values)) if values else 0.0


def agreement(found: Sequence[Sequence[Any]], exact: Sequence[Sequence[Any]], *, k: int) -> float:
    """Return the mean share of the exact top ``k`` among the first ``k`` found."""
    return mean_recall(found, [row[:k] for row in exact], k=k)
