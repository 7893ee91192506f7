"""Scalar quantisation: one byte a dimension, between the extremes of the sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hi2 import _native
from hi2.codecs.codec import Codec
from hi2.types import Array, Floats


@dataclass(frozen=True)
class SQ8:
    """Store every dimension as one of 255 even steps; four times smaller than float32 and as good in practice.

    ``residual=True`` encodes the vector less the anchor of its cluster: finer steps, and a sum more for every score.

    >>> SQ8()
    SQ8(residual=False)
    """

    residual: bool = False

    sample_size: ClassVar[int] = 64 * 1024

    def __post_init__(self) -> None:
        object.__setattr__(self, "residual", bool(self.residual))

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec whose steps span ``sample`` (n, dim), and a tenth more for what the sample lacks."""
        low, high = sample.min(0), sample.max(0)
        middle = low / 2 + high / 2
        # A dimension that never changes still needs a step.
        reach = 1.1 * np.maximum(high - middle, max(1e-6 * float(np.abs(middle).max()), 1e-35))
        return self.restore(sample.shape[1], {"middle": middle, "step": (reach / 127).astype(np.float32)})

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec with these steps."""
        return Codec(self, dict(arrays), _native.Codec.sq8(arrays["middle"], arrays["step"]))
