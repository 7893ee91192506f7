"""How are the vectors of documents stored and scored?"""

from hi2.codecs.codec import Codec, CodecSpec
from hi2.codecs.flat import Flat
from hi2.codecs.half import Half
from hi2.codecs.opq import OPQ
from hi2.codecs.pq import PQ
from hi2.codecs.rabitq import RaBitQ
from hi2.codecs.sq8 import SQ8

#: Every codec spec, by the name it is stored under. The contract tests run over all of them.
CODECS: dict[str, type[Flat | Half | SQ8 | PQ | OPQ | RaBitQ]] = {
    spec.__name__: spec for spec in (Flat, Half, SQ8, PQ, OPQ, RaBitQ)
}

#: Vectors of an index with at least this many documents are compressed by default. From there on, brute force over
#: full vectors takes milliseconds.
COMPRESS_FROM_DOCS = 10_000


def default_codecs(
    codec: CodecSpec | Codec | None, refine: CodecSpec | Codec | None, n_docs: int
) -> tuple[CodecSpec | Codec, CodecSpec | Codec | None]:
    """Return the codec and the refine store of an index of ``n_docs`` documents.

    Without a codec, a small index keeps full vectors, and a large one gets RaBitQ codes with a refine store.

    >>> default_codecs(None, None, 100), default_codecs(None, None, 10**6)
    ((Flat(), None), (RaBitQ(bits=1, residual=False, seed=0), SQ8(residual=False)))
    """
    if codec is not None:
        return codec, refine
    if n_docs < COMPRESS_FROM_DOCS and refine is None:
        return Flat(), None
    return RaBitQ(), SQ8() if refine is None else refine


__all__ = ["CODECS", "OPQ", "PQ", "SQ8", "Codec", "CodecSpec", "Flat", "Half", "RaBitQ", "default_codecs"]
