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
#: Two probe vectors further apart than this share of their length are not one encoder's; float16 and other hardware
#: stay well below.
SAME = 0.03


class Encoder(Protocol):
    """Texts to vectors."""

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors (n, dim) of ``texts``."""
        ...


def encode(encoder: Encoder, texts: Sequence[str], *, dim: int | None = None) -> Floats:
    """Return an encoder's vectors of some texts, checked."""
    if not callable(encoder) or isinstance(encoder, type):
        raise invalid("encoder", "a callable from a list of strings to an array (n, dim)", repr(encoder))
    try:
        vectors = np.asarray(encoder(list(texts)))
    except ValueError as error:
        raise invalid("encoder", "a callable that returns an array", f"{type(encoder).__name__} ({error})") from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.dtype.kind not in "fiu":
        must = f"a callable that returns an array of shape ({len(texts)}, dim) for {len(texts)} texts"
        raise invalid("encoder", must, f"shape {vectors.shape} of {vectors.dtype}")
    if dim is not None and vectors.shape[1] != dim:
        raise invalid("encoder", f"one of the index's dimension {dim}", f"dimension {vectors.shape[1]}")
    vectors = vectors.astype(np.float32)
    if not np.isfinite(vectors).all():
        raise invalid("encoder", "a callable that returns finite numbers", "NaN or infinite ones")
    return vectors


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
        if not probe.any():
            raise invalid("encoder", f"one that gives a vector other than zero for {PROBE!r}", name)
        return cls(name, None if source is None else str(source), tuple(float(f"{x:.7g}") for x in probe))

    def check(self, encoder: Encoder) -> None:
        """Raise InvalidParameter if ``encoder`` is another one."""
        mine, theirs = np.array(self.probe), encode(encoder, [PROBE])[0].astype(np.float64)
        # Direction and length: the difference is small against either vector.
        differ = mine.shape != theirs.shape or not np.linalg.norm(mine - theirs) < SAME * np.linalg.norm(mine)
        if differ:
            raise InvalidParameter(
                f"The 'encoder' parameter must be the one the index was built with ({self}). "
                f"Got {EncoderIdentity.of(encoder)} instead, which gives other vectors; use the same or rebuild."
            )

    @staticmethod
    def check_dim(encoder: Encoder, dim: int) -> None:
        """Raise InvalidParameter if ``encoder`` does not give vectors of this dimension."""
        encode(encoder, [PROBE], dim=dim)

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
