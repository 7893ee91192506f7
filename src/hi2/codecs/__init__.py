"""How documents' vectors are stored and scored."""

from hi2.codecs.codec import Codec, CodecSpec
from hi2.codecs.flat import Flat
from hi2.codecs.opq import OPQ
from hi2.codecs.pq import PQ

#: Every codec spec by the name it is stored under; the contract tests run over them.
CODECS: dict[str, type[Flat] | type[PQ] | type[OPQ]] = {"Flat": Flat, "PQ": PQ, "OPQ": OPQ}

__all__ = ["CODECS", "OPQ", "PQ", "Codec", "CodecSpec", "Flat"]
