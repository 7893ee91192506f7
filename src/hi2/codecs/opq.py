"""Optimised product quantisation: a rotation before PQ (Ge et al., TPAMI 2014); the paper's codec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hi2.codecs.codec import Codec
from hi2.codecs.pq import PQ, pad, restore_product
from hi2.faiss_fitting import pinned_faiss, train_codebooks
from hi2.types import Array, Floats


@dataclass(frozen=True)
class OPQ(PQ):
    """PQ after a learned rotation that spreads the variance evenly over the subspaces.

    >>> OPQ(subspaces=96)
    OPQ(subspaces=96, bits=8, residual=False)
    """

    #: The rotation is learned from fewer points and in fewer rounds than faiss's default (50 rounds). On MiniLM vectors
    #: the reconstruction error has converged by then. The codebooks are trained on the whole sample.
    rotation_sample: ClassVar[int] = 32 * 1024
    rotation_rounds: ClassVar[int] = 12

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec with a rotation and codebooks fitted to ``sample`` (n, dim)."""
        spec = self.resolved(sample.shape[1])
        subspaces = spec.subspaces or 1
        padded = pad(sample, subspaces)
        with pinned_faiss(threads) as faiss:
            rotation = self._rotation(faiss, padded, subspaces)[:, : sample.shape[1]]
            codebooks = train_codebooks(faiss, sample @ rotation.T, subspaces, spec.bits)
        return spec.restore(
            sample.shape[1], {"codebooks": codebooks, "rotation": np.ascontiguousarray(rotation, np.float32)}
        )

    def _rotation(self, faiss: Any, padded: Floats, subspaces: int) -> Floats:
        dim = padded.shape[1]
        if len(padded) <= 1 << self.bits:  # a codeword for every point: nothing to learn
            return np.eye(dim, dtype=np.float32)
        opq = faiss.OPQMatrix(dim, subspaces)
        opq.niter = self.rotation_rounds
        opq.max_train_points = self.rotation_sample
        pq = faiss.ProductQuantizer(dim, subspaces, self.bits)
        pq.cp.min_points_per_centroid = 1
        opq.pq = pq
        opq.train(padded)
        rotation: Floats = faiss.vector_to_array(opq.A).reshape(dim, dim)
        return rotation

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec with this rotation and these codebooks."""
        return restore_product(self, dim, arrays)
