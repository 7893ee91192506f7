"""
Native parts of hi2: packed arrays, posting lists, codecs, the search itself.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray

from hi2.errors import FormatError as FormatError


def simd_level() -> str:
    """The SIMD level in use."""

def simd_levels() -> list:
    """The SIMD levels this machine can run."""

PADDING: int = 8

def pack(values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int) -> NDArray[numpy.uint8]:
    """Fixed-width bit fields, followed by PADDING zero bytes."""

def unpack(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int, n: int) -> NDArray[numpy.uint64]:
    """The n values of a packed array."""

def encode_lists(keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], docs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], universe: int, rank_bits: int) -> tuple:
    """Compressed posting lists: (keys, offsets, blob)."""

def nearest(vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], anchors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_best: int, threads: int) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float32]]:
    """Best anchors of every vector: (labels, scores), each (n, n_best)."""

def dot(queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], level: str) -> NDArray[numpy.float32]:
    """Inner products by the kernel of one SIMD level."""

def dot_gather(query: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], docs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], level: str) -> NDArray[numpy.float32]:
    """Inner products with chosen rows by the kernel of one SIMD level."""

def pq_scores(table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], docs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], level: str) -> NDArray[numpy.float32]:
    """
    Table scores of all codes in sequence, then of the chosen ones, by the kernels of one SIMD level.
    """

def pq_table(query: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], level: str) -> NDArray[numpy.float32]:
    """One column of a table by one SIMD level."""

def count_terms(tokens: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], dropped: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """Bags of terms: (offsets, terms, counts, lengths)."""

def top_terms(offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """Positions of the best terms of every row: (offsets, chosen)."""

ID_BLOCK: int = 64

def sort_strings(ends: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], characters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.uint64]:
    """Rows in the byte order of their strings."""

class Ids:
    """Ids in arrival order: read by row, found by binary search."""

    @staticmethod
    def integers(values: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_id: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int) -> Ids: ...

    @staticmethod
    def strings(lengths: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], length_bytes: int, positions: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], characters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], by_id: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int) -> Ids: ...

    def __len__(self) -> int: ...

    def take(self, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list:
        """The ids of some rows."""

    def find(self, ids: list) -> NDArray[numpy.int64]:
        """The document of every id, -1 where there is none."""

class Codec:
    """A native codec: encodes vectors, scores codes."""

    @staticmethod
    def flat(dim: int) -> Codec: ...

    @staticmethod
    def pq(dim: int, codebooks: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], rotation: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> Codec: ...

    @property
    def dim(self) -> int: ...

    @property
    def code_bytes(self) -> int: ...

    def encode(self, vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.uint8]:
        """Codes of some vectors, (n, code_bytes) uint8."""

class Model:
    """The fitted parts as the search reads them."""

    def __init__(self, dim: int, centroids: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, anchors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, codec: Codec, residual: bool, refine: Codec | None, refine_residual: bool) -> None: ...

    def probe(self, query: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], clusters: int) -> NDArray[numpy.uint32]:
        """The clusters a query opens, best first."""

class Segment:
    """One segment's arrays, checked and ready to search."""

    def __init__(self, n_docs: int, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], refine_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], row_bits: int, n_clusters: int, clusters: tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int, int] | None, copies: tuple[tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int, int], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int] | None, n_terms: int, terms: tuple[tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int, int], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], int] | None) -> None: ...

    @property
    def n_docs(self) -> int: ...

    def clusters(self) -> tuple:
        """Non-empty clusters and their ranges: (keys, offsets)."""

    def term_list(self, term: int) -> tuple:
        """(docs, ranks) filed under a term."""

    def copy_list(self, cluster: int) -> tuple:
        """(docs, ranks) filed under a further cluster."""

    def term_postings(self) -> tuple:
        """Every term posting: (terms, docs, ranks)."""

    def copy_postings(self) -> tuple:
        """Every boundary copy: (clusters, docs, ranks)."""

    def term_lengths(self) -> tuple:
        """(terms, lengths) of the non-empty term lists."""

def search(model: Model, segments: list, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], term_offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, clusters: int, per_doc: int, depth: int, threads: int) -> tuple:
    """
    The k best of every query over [(segment, alive or None)]: (segments, rows, scores, counts, n_scored).
    """

def score(model: Model, segment: Segment, query: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], refine: bool, docs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
    """Codec or refine scores of some documents of a segment."""
