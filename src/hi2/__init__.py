"""The hybrid inverted index: dense retrieval by embedding clusters and salient terms, scored once by one codec."""

from hi2.codecs import OPQ, PQ, Codec, Flat
from hi2.errors import Error, FormatError, InvalidParameter, Locked, MissingExtra, ReadOnly, UnsupportedVersion
from hi2.explanation import Explanation
from hi2.index import HybridIndex
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.types import Hits, Searcher

__version__ = "0.1.0"

__all__ = [
    "BM25",
    "OPQ",
    "PQ",
    "ClusterSelector",
    "Codec",
    "Error",
    "Explanation",
    "Flat",
    "FormatError",
    "Hits",
    "HybridIndex",
    "InvalidParameter",
    "KMeans",
    "Locked",
    "MissingExtra",
    "ReadOnly",
    "Searcher",
    "TermSelector",
    "TermWeights",
    "UnsupportedVersion",
    "__version__",
]
