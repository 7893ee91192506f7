"""What is a codec? A spec that is fitted to vectors and then scores their codes natively."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hi2 import _native
from hi2.types import Array, Bytes, Floats

#: Arrays whose names begin so choose codes; those of the same name without it score them.
ENCODING = "encoding_"
#: The array that says by which linear map of queries the others were changed.
QUERY_MAP = "query_map"


class CodecSpec(Protocol):
    """How vectors are stored: chosen before anything is fitted."""

    #: Whether codes hold the vector less its cluster's anchor.
    @property
    def residual(self) -> bool:
        """Whether codes are relative to the document's cluster."""
        ...

    #: How many vectors ``fit`` makes use of.
    sample_size: ClassVar[int]

    def fit(self, sample: Floats, *, threads: int) -> Codec:
        """Return the codec fitted to ``sample`` (n, dim)."""
        ...

    def restore(self, dim: int, arrays: Mapping[str, Array]) -> Codec:
        """Return the codec whose fitted arrays were stored."""
        ...


@dataclass(frozen=True)
class Codec:
    """A fitted codec: immutable, scored by native code."""

    spec: CodecSpec
    arrays: Mapping[str, Array]
    native: _native.Codec
    #: What chooses codes where that is not what scores them: training moves codewords and leaves codes alone.
    encoding: _native.Codec | None = None

    @property
    def encoding_name(self) -> str:
        """Names what chooses codes: codes of two codecs with one name are the same."""
        digest = hashlib.sha256(repr(self.spec).encode())
        for name in sorted(name for name in self.arrays if not name.startswith(ENCODING) and name != QUERY_MAP):
            array = self.arrays.get(ENCODING + name, self.arrays[name])
            if name == "rotation" and np.array_equal(array, np.eye(*array.shape)):
                continue  # codes are the same without it
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def query_map(self) -> Floats | None:
        """The linear map of queries that scoring has taken up, None for none."""
        return self.arrays.get(QUERY_MAP)

    @property
    def dim(self) -> int:
        """The dimension of the vectors it encodes."""
        return self.native.dim

    @property
    def code_bytes(self) -> int:
        """Bytes a document."""
        return self.native.code_bytes

    def encode(self, vectors: Floats, *, threads: int = 1) -> Bytes:
        """Return the codes (n, code_bytes) of ``vectors`` (n, dim)."""
        return (self.encoding or self.native).encode(vectors, threads)
