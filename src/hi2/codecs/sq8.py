"""Scalar quantisation: one byte per dimension, between the extremes of the sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hi2 import _native
from hi2.arguments import boolean
from hi2.codecs.codec import Codec
from hi2.types import Array, Bytes, Floats


@dataclass(frozen=True)
class SQ8:
    """Store every dimension as one of 255 equal steps; four times smaller than float32 and as good in practice.

    ``residual=True`` encodes the difference between the vector and the anchor of its cluster. The steps are finer, and
    every score costs one more addition.

    >>> SQ8()
    SQ8(residual=False)
    """

    residual: bool = False

    sample_size: ClassVar[int] = 64 * 1024

    def __post_init__(self) -> None:
        object.__setattr__(self, "residual", boolean("residual", self.residual))

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec whose steps span ``sample`` (n, dim), plus a tenth for values beyond the sample's range."""
        low, high = sample.min(0), sample.max(0)
        middle = low / 2 + high / 2
        # A constant dimension still needs a step above zero.
        half_range = 1.1 * np.maximum(high - middle, max(1e-6 * float(np.abs(middle).max()), 1e-35))
        return self.restore(sample.shape[1], {"middle": middle, "step": (half_range / 127).astype(np.float32)})

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec with these steps."""
        return Codec(self, dict(arrays), _native.Codec.sq8(arrays["middle"], arrays["step"]))

    def decode(self, codes: Bytes, arrays: Mapping[str, Array]) -> Floats:
        """Return the vectors of codes, each number as the step it was rounded to."""
        vectors: Floats = arrays["middle"] + arrays["step"] * np.ascontiguousarray(codes).view(np.int8)
        return vectors.astype(np.float32)
