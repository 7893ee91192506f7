"""Is the difference more than chance? Paired t-tests with Holm's correction, and bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hi2.errors import MissingExtra, invalid
from hi2.types import Floats


def paired_p(one: Sequence[float] | Floats, other: Sequence[float] | Floats) -> float:
    """Return the two-sided p-value of a paired t-test over the same questions; 1 if all values are equal."""
    try:
        from scipy.stats import ttest_rel
    except ImportError as error:
        raise MissingExtra("Significance tests need an extra; install it with: pip install 'hi2[lab]'") from error
    a, b = np.asarray(one, float), np.asarray(other, float)
    if a.shape != b.shape:
        raise invalid("other", f"measured on the same {len(a)} questions", f"{len(b)} values")
    if len(a) < 2 or np.array_equal(a, b):
        return 1.0
    if np.ptp(a - b) <= 1e-12 * np.abs(a - b).max():  # a constant difference: t is infinite
        return 0.0
    return float(ttest_rel(a, b).pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values corrected for multiple tests by Holm's step-down method (1979).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    corrected, largest = {}, 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda pair: pair[1])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p))
        corrected[name] = largest
    return corrected


def bootstrap_interval(
    values: Sequence[float] | Floats, *, level: float = 0.95, n: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap percentile interval of the mean over questions."""
    array = np.asarray(values, float)
    if len(array) == 0:
        raise invalid("values", "measured on at least one question", "none")
    rng = np.random.default_rng(seed)
    means = np.array([array[rng.integers(0, len(array), len(array))].mean() for _ in range(n)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
