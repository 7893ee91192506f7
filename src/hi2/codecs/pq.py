"""Product quantisation (eqs. 3 and 4 of the paper; Jégou et al., TPAMI 2011)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hi2 import _native
from hi2.arguments import boolean, integer, normalise_integers
from hi2.codecs.codec import ENCODING_PREFIX, QUERY_MAP, Codec
from hi2.data.vectors import MAX_DIM
from hi2.errors import invalid
from hi2.faiss_fitting import pinned_faiss, train_codebooks
from hi2.types import Array, Floats


@dataclass(frozen=True)
class PQ:
    """Split a vector into ``subspaces`` parts and store each as the nearest of 2^bits codewords.

    ``subspaces=None`` means dim / 8: one byte for eight floats, 32 times smaller. A dimension that is not a multiple of
    ``subspaces`` is padded with zeros. ``bits`` is 8 or 4. ``residual=True`` encodes the difference between the vector
    and the anchor of its cluster, which varies less and so loses less.

    >>> PQ(subspaces=48)
    PQ(subspaces=48, bits=8, residual=False)
    """

    subspaces: int | None = None
    bits: int = 8
    residual: bool = False

    sample_size: ClassVar[int] = 256 * 256

    def __post_init__(self) -> None:
        normalise_integers(self, subspaces=(1, MAX_DIM), bits=(1, 64))
        object.__setattr__(self, "residual", boolean("residual", self.residual))
        if self.bits not in (4, 8):
            raise invalid("bits", "4 or 8", self.bits)

    def resolved(self, dim: int) -> PQ:
        """Return the spec with ``subspaces`` filled in."""
        if self.subspaces is None:
            return replace(self, subspaces=max(1, dim // 8))
        integer("subspaces", self.subspaces, low=1, high=dim)
        return self

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec with codebooks fitted to ``sample`` (n, dim)."""
        spec = self.resolved(sample.shape[1])
        padded = pad(sample, spec.subspaces or 1)
        with pinned_faiss(threads) as faiss:
            codebooks = train_codebooks(faiss, padded, spec.subspaces or 1, spec.bits)
        return spec.restore(sample.shape[1], {"codebooks": codebooks})

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec with these codebooks."""
        return restore_product(self, dim, arrays)


def restore_product(spec: PQ, dim: int, arrays: Mapping[str, Array]) -> Codec:
    """Return the codec with these codebooks, and a separate one that encodes if the arrays hold it."""
    own = {name: arrays[name] for name in ("codebooks", "rotation") if name in arrays}
    query_map = arrays.get(QUERY_MAP)
    if query_map is not None and (query_map.shape != (dim, dim) or query_map.dtype != np.float32):
        raise ValueError(f"a map of queries must be float32 of shape {(dim, dim)}, not {query_map.shape}")
    before = {name: arrays[ENCODING_PREFIX + name] for name in own if ENCODING_PREFIX + name in arrays}
    encoding = _product(dim, {**own, **before}) if before else None
    return Codec(spec, dict(arrays), _product(dim, own), encoding)


def _product(dim: int, arrays: Mapping[str, Array]) -> _native.Codec:
    return _native.Codec.pq(dim, arrays["codebooks"], arrays.get("rotation"))


def pad(vectors: Floats, subspaces: int) -> Floats:
    """Return the vectors with zeros appended up to a multiple of ``subspaces``."""
    missing = -vectors.shape[1] % subspaces
    return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors
