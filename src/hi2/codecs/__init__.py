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

__all__ = ["CODECS", "OPQ", "PQ", "SQ8", "Codec", "CodecSpec", "Flat", "Half", "RaBitQ"]
