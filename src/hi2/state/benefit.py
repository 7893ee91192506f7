"""What is a candidate expected to be worth before it is scored? Seven weights of what is known for free.

The log-odds that a document is among the best depend on how many clusters are nearer than its own, how far the score of
its cluster lies below the best, and how rare the query term is that it is filed under. ``native/include/hi2/benefit.h``
has the formula. The defaults suit an index that was not tuned; ``tuning/list_weights.py`` learns them from queries.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from hi2.data.lazy import lazy
from hi2.types import Floats


@dataclass(frozen=True)
class Benefit:
    """Log-odds of a candidate by the rank and the gap of its cluster and the rarity of its term."""

    base: float = -1.9
    rank: float = -1.0
    rank2: float = -0.08
    gap: float = -0.2
    term: float = 0.3
    idf: float = 0.2
    idf_rank: float = 0.05

    @lazy
    def array(self) -> Floats:
        """The weights as the native search reads them."""
        return np.array(astuple(self), np.float32)


#: For an index that was not tuned.
DEFAULT_BENEFIT = Benefit()


def log_odds(share: float) -> float:
    """Return log(p / (1 − p))."""
    return -math.inf if share <= 0 else math.inf if share >= 1 else math.log(share / (1 - share))
