"""What is a codec? A spec is fitted to vectors; the fitted codec encodes them, and native code scores the codes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hi2 import _native
from hi2.types import Array, Bytes, Floats

#: An array with this prefix is used to encode, and the array of the same name without it to score. Without such an
#: array, one array does both.
ENCODING_PREFIX = "encoding_"
#: The linear map of queries that was folded into the other arrays.
QUERY_MAP = "query_map"


class CodecSpec(Protocol):
    """How vectors are stored; chosen before anything is fitted."""

    @property
    def residual(self) -> bool:
        """Whether codes encode the difference between a vector and the anchor of its cluster."""
        ...

    #: How many vectors ``fit`` uses.
    sample_size: ClassVar[int]

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec fitted to ``sample`` (n, dim)."""
        ...

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec with these fitted arrays."""
        ...


@dataclass(frozen=True)
class Codec:
    """A fitted codec; immutable. Native code scores its codes."""

    spec: CodecSpec
    arrays: Mapping[str, Array]
    native: _native.Codec
    #: Encodes vectors if ``native`` does not: training moves the codewords that score, while codes stay as they are.
    encoding: _native.Codec | None = None

    @property
    def encoding_name(self) -> str:
        """A hash of what encoding depends on: codecs with the same one give the same codes."""
        digest = hashlib.sha256(repr(self.spec).encode())
        for name in sorted(name for name in self.arrays if not name.startswith(ENCODING_PREFIX) and name != QUERY_MAP):
            array = self.arrays.get(ENCODING_PREFIX + name, self.arrays[name])
            if name == "rotation" and np.array_equal(array, np.eye(*array.shape)):
                continue  # the identity does not change codes
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def query_map(self) -> Floats | None:
        """The linear map of queries that was folded into the codec, or None."""
        return self.arrays.get(QUERY_MAP)

    @property
    def gives_back(self) -> bool:
        """Whether codes keep enough of vectors to give them back."""
        return hasattr(self.spec, "decode") and self.query_map is None

    def decode(self, codes: Bytes) -> Floats:
        """Return the vectors (n, dim) of codes, or of residual codes what is added to the anchors."""
        vectors: Floats = self.spec.decode(codes, self.arrays)  # type: ignore[attr-defined]
        return vectors

    @property
    def dim(self) -> int:
        """The dimension of the vectors it encodes."""
        return self.native.dim

    @property
    def code_bytes(self) -> int:
        """Bytes per document."""
        return self.native.code_bytes

    def encode(self, vectors: Floats, *, threads: int = 1) -> Bytes:
        """Return the codes (n, code_bytes) of ``vectors`` (n, dim)."""
        return (self.encoding or self.native).encode(vectors, threads)
