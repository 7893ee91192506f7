"""What is an encoder, and is this the one an index was built with?

Any callable from a list of strings to an array (n, dim) is an encoder. An index stores the encoder's vector of one
fixed sentence, the probe. An encoder that gives a different vector for it is a different encoder, whatever its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hi2.data.given_array import given_array, is_real
from hi2.errors import FormatError, InvalidParameter, described, invalid
from hi2.types import Floats

PROBE = "The quick brown fox jumps over the lazy dog."
#: Probe vectors of one encoder differ by less than this share of their length. Float16 and other hardware cause far
#: smaller differences.
MAX_PROBE_DIFFERENCE = 0.03
#: The largest number of a vector.
_LARGEST = float(np.finfo(np.float32).max)

#: The name of an encoder, and where it says it was loaded from.
Label = tuple[str, str | None]


class Encoder(Protocol):
    """A callable that turns texts into vectors."""

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return the vectors (n, dim) of ``texts``."""
        ...


def encode(encoder: Encoder, texts: Sequence[str], *, dim: int | None = None) -> Floats:
    """Return an encoder's vectors (n, dim) of some texts as float32, after checking shape and values."""
    if not callable(encoder) or isinstance(encoder, type):
        raise invalid("encoder", "a callable from a list of strings to an array (n, dim)", described(encoder))
    vectors = given_array(encoder(list(texts)), name="encoder")
    if vectors.ndim != 2 or len(vectors) != len(texts) or not is_real(vectors.dtype):
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
    """Which encoder made the vectors: its name, where to load it from if it says so, and its vector of the probe."""

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

    @property
    def label(self) -> Label:
        """The name and the source: what an index says about its encoder. Nothing is loaded because of it."""
        return self.name, self.source

    def matches(self, encoder: Encoder) -> bool:
        """Whether ``encoder`` gives the vector of the probe that is stored here."""
        mine, theirs = np.array(self.probe), encode(encoder, [PROBE])[0].astype(np.float64)
        # The norm of the difference is sensitive to both direction and length.
        limit = MAX_PROBE_DIFFERENCE * np.linalg.norm(mine)
        return mine.shape == theirs.shape and bool(np.linalg.norm(mine - theirs) < limit)

    def check(self, encoder: Encoder) -> None:
        """Raise InvalidParameter if ``encoder`` is a different one."""
        if not self.matches(encoder):
            raise InvalidParameter(
                f"The 'encoder' parameter must be the one the index was built with ({self}). "
                f"Got {EncoderIdentity.of(encoder)}, which gives other vectors; use the same or rebuild."
            )

    @staticmethod
    def check_dim(encoder: Encoder, dim: int) -> None:
        """Raise InvalidParameter if ``encoder`` does not give vectors of this dimension."""
        encode(encoder, [PROBE], dim=dim)

    def __str__(self) -> str:
        name = self.name if self.name.isprintable() else repr(self.name)  # an index from elsewhere may name anything
        return f"{name}({self.source!r}), {len(self.probe)} dimensions" if self.source else name

    def to_json(self) -> dict[str, Any]:
        """Return the identity as JSON data."""
        return {"name": self.name, "source": self.source, "probe": list(self.probe)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EncoderIdentity:
        """Return the identity that ``to_json`` wrote; FormatError if it could not have."""
        name, source, probe = data["name"], data["source"], data["probe"]
        if not isinstance(name, str) or not isinstance(source, (str, type(None))):
            raise FormatError("The index is damaged: the name or the source of its encoder is not a string.")
        if not isinstance(probe, list) or not all(type(x) in (int, float) and abs(x) <= _LARGEST for x in probe):
            raise FormatError("The index is damaged: the probe of its encoder is not a list of finite numbers.")
        if not any(probe):
            raise FormatError("The index is damaged: the probe of its encoder is zero.")
        return cls(name, source, tuple(float(x) for x in probe))
