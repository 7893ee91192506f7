"""Turn texts into vectors."""

from hi2.encoders.encoder import Encoder
from hi2.encoders.permitted import permitted_encoder, register_encoder, registered_encoders, unregister_encoders
from hi2.encoders.sentence_transformers import SentenceTransformerEncoder
from hi2.encoders.static import StaticEncoder

__all__ = [
    "Encoder",
    "SentenceTransformerEncoder",
    "StaticEncoder",
    "permitted_encoder",
    "register_encoder",
    "registered_encoders",
    "unregister_encoders",
]
