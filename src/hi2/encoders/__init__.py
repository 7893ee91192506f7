"""Turn texts into vectors."""

from hi2.encoders.encoder import Encoder, EncoderIdentity
from hi2.encoders.sentence_transformers import SentenceTransformerEncoder
from hi2.encoders.static import StaticEncoder
from hi2.errors import InvalidParameter

__all__ = ["Encoder", "SentenceTransformerEncoder", "StaticEncoder", "load_encoder"]


def load_encoder(identity: EncoderIdentity) -> Encoder:
    """Return the encoder an index was built with, if this library can load it."""
    if identity.name == "StaticEncoder":
        encoder: Encoder = StaticEncoder()
    elif identity.name == "SentenceTransformerEncoder" and identity.source is not None:
        encoder = SentenceTransformerEncoder(identity.source)
    else:
        raise InvalidParameter(
            f"The 'encoder' parameter of open must be given: the index was built with {identity}, "
            "which this library cannot load by itself."
        )
    identity.check(encoder)
    return encoder
