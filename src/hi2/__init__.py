"""The hybrid inverted index: documents found by embedding clusters and terms, ranked by meaning and words."""

import logging

from hi2.client import Client
from hi2.codecs import OPQ, PQ, SQ8, Codec, Flat, Half, RaBitQ
from hi2.encoders import SentenceTransformerEncoder, StaticEncoder, register_encoder
from hi2.errors import (
    Error,
    FormatError,
    InvalidParameter,
    Locked,
    MissingExtra,
    NotFound,
    ReadOnly,
    UnsupportedVersion,
)
from hi2.filters.expression import column
from hi2.index import HybridIndex
from hi2.search.explanation import Explanation
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.store.trained_parts import Parts
from hi2.text.chunks import Chunks, chunks
from hi2.text.words import WordTokenizer
from hi2.types import Hit, Hits, Searcher
from hi2.version import __version__

logging.getLogger("hi2").addHandler(logging.NullHandler())  # silent unless the program asks for messages

__all__ = [
    "BM25",
    "OPQ",
    "PQ",
    "SQ8",
    "Chunks",
    "Client",
    "ClusterSelector",
    "Codec",
    "Error",
    "Explanation",
    "Flat",
    "FormatError",
    "Half",
    "Hit",
    "Hits",
    "HybridIndex",
    "InvalidParameter",
    "KMeans",
    "Locked",
    "MissingExtra",
    "NotFound",
    "Parts",
    "RaBitQ",
    "ReadOnly",
    "Searcher",
    "SentenceTransformerEncoder",
    "StaticEncoder",
    "TermSelector",
    "TermWeights",
    "UnsupportedVersion",
    "WordTokenizer",
    "__version__",
    "chunks",
    "column",
    "register_encoder",
]
