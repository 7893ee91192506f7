"""Half precision: float16, exact to three digits, 2 · dim bytes per document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hi2 import _native
from hi2.codecs.codec import Codec
from hi2.types import Array, Bytes, Floats


@dataclass(frozen=True)
class Half:
    """Keep the vectors in float16; values beyond ±65,504 are clipped.

    >>> Half()
    Half()
    """

    sample_size: ClassVar[int] = 1
    residual: ClassVar[bool] = False

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec for the sample's dimension; nothing is learned."""
        return self.restore(sample.shape[1], {})

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec."""
        return Codec(self, {}, _native.Codec.half(dim))

    def decode(self, codes: Bytes, arrays: Mapping[str, Array]) -> Floats:
        """Return the vectors of codes."""
        return np.ascontiguousarray(codes).view(np.float16).astype(np.float32)
