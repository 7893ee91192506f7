"""Full float32 vectors: exact scores, 4 · dim bytes per document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hi2 import _native
from hi2.codecs.codec import Codec
from hi2.types import Array, Bytes, Floats


@dataclass(frozen=True)
class Flat:
    """Keep the vectors as they are.

    >>> Flat()
    Flat()
    """

    sample_size: ClassVar[int] = 1
    residual: ClassVar[bool] = False

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec for the sample's dimension; nothing is learned."""
        return self.restore(sample.shape[1], {})

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec."""
        return Codec(self, {}, _native.Codec.flat(dim))

    def decode(self, codes: Bytes, arrays: Mapping[str, Array]) -> Floats:
        """Return the vectors of codes."""
        vectors: Floats = np.ascontiguousarray(codes).view(np.float32)
        return vectors
