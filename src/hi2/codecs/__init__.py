"""How documents' vectors are stored and scored."""

from hi2.codecs.codec import Codec, CodecSpec
from hi2.codecs.flat import Flat
from hi2.codecs.half import Half
from hi2.codecs.opq import OPQ
from hi2.codecs.pq import PQ
from hi2.codecs.rabitq import RaBitQ
from hi2.codecs.sq8 import SQ8

#: Every codec spec by the name it is stored under; the contract tests run over them.
CODECS: dict[str, type[Flat | Half | SQ8 | PQ | OPQ | RaBitQ]] = {
    spec.__name__: spec for spec in (Flat, Half, SQ8, PQ, OPQ, RaBitQ)
}

#: From so many documents on codes are compact by default: brute force over full vectors takes milliseconds there.
MANY = 10_000


def default_codecs(
    codec: CodecSpec | Codec | None, refine: CodecSpec | Codec | None, n_docs: int
) -> tuple[CodecSpec | Codec, CodecSpec | Codec | None]:
    """Return the codec and refine store of an index of ``n_docs``, where none was chosen.

    >>> default_codecs(None, None, 100), default_codecs(None, None, 10**6)
    ((Flat(), None), (RaBitQ(bits=1, residual=False, seed=0), SQ8(residual=False)))
    """
    if codec is not None:
        return codec, refine
    if n_docs < MANY and refine is None:
        return Flat(), None
    return RaBitQ(), SQ8() if refine is None else refine


__all__ = ["CODECS", "OPQ", "PQ", "SQ8", "Codec", "CodecSpec", "Flat", "Half", "RaBitQ", "default_codecs"]
