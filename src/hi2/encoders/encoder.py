"""What is an encoder, and is this the one an index was built with?

Any callable from a list of strings to an array (n, dim) is an encoder. An index remembers the vector of one fixed
sentence: an encoder that gives another is another encoder, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hi2.errors import InvalidParameter, invalid
from hi2.types import Floats

PROBE = "The quick brown fox jumps over the lazy dog."
#: Cosine below which two probe vectors are not the same encoder's; float16 and other hardware stay well above.
SAME = 0.999


class Encoder(Protocol):
    """Texts to vectors."""

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors (n, dim) of ``texts``."""
        ...


def encode(encoder: Encoder, texts: Sequence[str], *, dim: int | None = None) -> Floats:
    """Return an encoder's vectors of some texts, checked."""
    vectors = np.asarray(encoder(list(texts)))
    if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.dtype.kind not in "fiu":
        must = f"a callable that returns an array of shape ({len(texts)}, dim) for {len(texts)} texts"
        raise invalid("encoder", must, f"shape {vectors.shape} of {vectors.dtype}")
    if dim is not None and vectors.shape[1] != dim:
        raise invalid("encoder", f"one of the index's dimension {dim}", f"dimension {vectors.shape[1]}")
    return vectors.astype(np.float32)


@dataclass(frozen=True)
class EncoderIdentity:
    """Which encoder made the vectors: its name, how to load it again if it says so, and its vector of the probe."""

    name: str
    source: str | None
    probe: tuple[float, ...]

    @classmethod
    def of(cls, encoder: Encoder) -> EncoderIdentity:
        """Return the identity of an encoder."""
        name = type(encoder).__name__ if not hasattr(encoder, "__name__") else str(encoder.__name__)
        source = getattr(encoder, "source", None)
        probe = encode(encoder, [PROBE])[0]
        return cls(name, None if source is None else str(source), tuple(round(float(x), 6) for x in probe))

    def check(self, encoder: Encoder) -> None:
        """Raise InvalidParameter if ``encoder`` is another one."""
        mine, theirs = np.array(self.probe), encode(encoder, [PROBE])[0].astype(np.float64)
        norms = np.linalg.norm(mine) * np.linalg.norm(theirs) if mine.shape == theirs.shape else 0.0
        if mine.shape != theirs.shape or float(mine @ theirs) < SAME * norms:
            raise InvalidParameter(
                f"The 'encoder' parameter must be the one the index was built with ({self}). "
                f"Got {EncoderIdentity.of(encoder)} instead, which gives other vectors; use the same or rebuild."
            )

    def __str__(self) -> str:
        return f"{self.name}({self.source!r}), {len(self.probe)} dimensions" if self.source else self.name

    def to_json(self) -> dict[str, Any]:
        """Return the identity as JSON data."""
        return {"name": self.name, "source": self.source, "probe": list(self.probe)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EncoderIdentity:
        """Return what ``to_json`` wrote."""
        source = data["source"]
        return cls(str(data["name"]), None if source is None else str(source), tuple(float(x) for x in data["probe"]))
