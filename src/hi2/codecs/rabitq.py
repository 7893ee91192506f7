"""RaBitQ: a few bits per dimension after a random rotation, with unbiased scores (Gao and Long, SIGMOD 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hi2 import _native
from hi2.arguments import boolean, normalise_integers
from hi2.codecs.codec import Codec
from hi2.types import Array, Floats


@dataclass(frozen=True)
class RaBitQ:
    """Store ``bits`` bits per dimension and one float32 per document; fast to scan, best with a refine store.

    Codes encode the difference between the vector and the mean of all vectors or, with ``residual=True``, the anchor of
    its cluster. Only the mean is fitted; ``seed`` determines the random rotation.

    >>> RaBitQ()
    RaBitQ(bits=1, residual=False, seed=0)
    """

    bits: int = 1
    residual: bool = False
    seed: int = 0

    sample_size: ClassVar[int] = 64 * 1024
    #: Rounds of sign flips and Hadamard transforms. Four mix every dimension with every other.
    rounds: ClassVar[int] = 4

    def __post_init__(self) -> None:
        normalise_integers(self, bits=(1, 8), seed=(0, 2**32 - 1))
        object.__setattr__(self, "residual", boolean("residual", self.residual))

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec with the mean of ``sample`` (n, dim) and a random rotation."""
        dim = sample.shape[1]
        signs = np.random.default_rng(self.seed).integers(0, 2, (self.rounds, dim), np.uint8)
        return self.restore(dim, {"middle": sample.mean(0, dtype=np.float64).astype(np.float32), "signs": signs})

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec with this mean and rotation."""
        return Codec(self, dict(arrays), _native.Codec.rabitq(self.bits, arrays["middle"], arrays["signs"]))
