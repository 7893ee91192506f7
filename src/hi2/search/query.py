"""What is asked? Query vectors and texts, checked, with the terms that the texts open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.data.given_array import entries, given_array
from hi2.data.ragged import take_rows
from hi2.data.vectors import open_vectors
from hi2.encoders.encoder import Encoder, encode
from hi2.errors import described, invalid
from hi2.search.effort import Effort
from hi2.state.model import Model
from hi2.types import U32, U64, Array, Floats

Texts = str | Sequence[str | None] | None


@dataclass(frozen=True)
class Queries:
    """Queries (n, dim); query i opens the terms [offsets[i], offsets[i+1]).

    Its distinct terms are ``words``, [word_offsets[i], word_offsets[i+1]); None where they are not ranked by.
    """

    vectors: Floats
    offsets: U64
    terms: U32
    word_offsets: U64 | None = None
    words: U32 | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, rows: Sequence[int] | Array) -> Queries:
        """Return some of the queries."""
        offsets, terms = take_rows(self.offsets, self.terms, rows)
        vectors = np.ascontiguousarray(self.vectors[rows])
        if self.word_offsets is None or self.words is None:
            return Queries(vectors, offsets, terms)
        return Queries(vectors, offsets, terms, *take_rows(self.word_offsets, self.words, rows))


def with_terms(
    model: Model, vectors: Floats, texts: Sequence[str | None] | None, effort: Effort, threads: int
) -> Queries:
    """Return queries with the terms they open; none without texts, or where the effort skips terms."""
    lists = effort.terms > 0 and effort.per_doc > 0
    if model.terms is None or texts is None or not (lists or effort.lexical):
        return Queries(vectors, np.zeros(len(vectors) + 1, np.uint64), np.zeros(0, np.uint32))
    offsets, terms, *words = model.terms.query_terms(texts, effort.terms if lists else 0, threads=threads)
    return Queries(vectors, offsets, terms, *(words if effort.lexical else ()))


def encode_texts(vectors: Any, texts: Any, encoder: Callable[[], Encoder | None], model: Model) -> tuple[Any, Any]:
    """Return queries as vectors and texts. Where only text is given, the encoder makes the vectors.

    Vectors are None where there is no encoder either, or where the caller says None: words alone rank then.
    """
    if vectors is None and texts is not None:
        return None, texts
    text_alone = isinstance(vectors, str) or (
        isinstance(vectors, (list, tuple)) and len(vectors) > 0 and isinstance(vectors[0], str)
    )
    if not text_alone:
        return vectors, texts
    if texts is not None:
        raise invalid("vectors", "vectors where texts are given too", "text")
    for row, text in enumerate([] if isinstance(vectors, str) else vectors):
        if not isinstance(text, str):
            raise invalid("vectors", "all texts or all vectors", f"{described(text)} in row {row}")
    loaded = encoder()
    if loaded is None:
        if model.evidence is None:
            must = "a vector: this index has no encoder, and no bags of words to rank by (see bags= and refit())"
            raise invalid("vectors", must, "text alone")
        return None, vectors
    encoded = encode(loaded, [vectors] if isinstance(vectors, str) else vectors, dim=model.dim)
    return (encoded[0] if isinstance(vectors, str) else encoded), vectors


def read_query(vector: Any, model: Model) -> Floats:
    """Return one query vector, checked, normalised where the metric is cosine."""
    array = given_array(vector, name="vector")
    if array.ndim != 1:
        raise invalid("vector", "one vector of shape (dim,)", f"shape {array.shape}")
    query: Floats = open_vectors(array[None, :], metric=model.metric, dim=model.dim).read(slice(0, 1))[0]
    return query


def read_queries(vectors: Any, texts: Texts, model: Model) -> tuple[Floats, Sequence[str | None] | None, bool]:
    """Return queries as (n, dim), their texts, and whether there was one query and no batch."""
    array = vectors if type(vectors) is np.ndarray else given_array(vectors, name="vectors")
    single = array.ndim == 1
    if single and texts is not None and not isinstance(texts, str):
        raise invalid("texts", "one string for one vector", f"a {type(texts).__name__}")
    if not single and isinstance(texts, str):
        raise invalid("texts", "one string per query", "a single string for a batch of vectors")
    source = open_vectors(array[None, :] if single else array, metric=model.metric, dim=model.dim)
    queries = source.read(slice(0, source.n))
    if texts is None:
        return queries, None, single
    rows = [texts] if isinstance(texts, str) else list(entries(texts, name="texts", must="one string per query"))
    if len(rows) != len(queries):
        raise invalid("texts", f"one string per query ({len(queries)})", len(rows))
    for row, text in enumerate(rows):
        if text is not None and not isinstance(text, str):
            raise invalid("texts", "strings or None", f"a {type(text).__name__} in row {row}")
    return queries, rows, single
