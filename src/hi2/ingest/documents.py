"""What are the new documents? Vectors, texts, ids and payload, read once and checked against each other.

Texts and payload are read in batches, and what does not fit in memory is spooled to a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np

from hi2.arguments import boolean
from hi2.data.given_array import entries
from hi2.data.ids import IdColumn, id_column
from hi2.data.lazy import lazy
from hi2.data.ragged import Ragged
from hi2.data.spool import Spool
from hi2.data.vectors import Vectors, VectorSpool, open_some_vectors
from hi2.encoders.encoder import Encoder, encode
from hi2.encoders.static import StaticEncoder
from hi2.errors import InvalidParameter, described, invalid
from hi2.filters.column_types import ColumnTypes
from hi2.ingest.payload import StoredLines
from hi2.progress import Progress
from hi2.selectors.terms import BM25, LearnedTerms, TermSelector, TermWeights
from hi2.text.bags import BagCollector, Bags, count, count_tokens, weigh
from hi2.text.tokenizer import Analyzer, Tokenizer
from hi2.types import I64, U64, Array, Bools, Floats

_TEXTS_PER_BATCH = 2048


@dataclass(frozen=True)
class TermReader:
    """How texts, or given weights, become bags of terms: a term spec and its tokenizer."""

    spec: BM25 | TermWeights | LearnedTerms
    tokenizer: Analyzer


def term_reader(terms: BM25 | TermWeights | TermSelector | None) -> TermReader | None:
    """Return how documents' terms are read for a spec or a fitted selector."""
    if terms is None:
        return None
    if isinstance(terms, TermSelector):
        return TermReader(terms.spec, terms.tokenizer)
    if not isinstance(terms, (BM25, TermWeights)):
        raise invalid("terms", "BM25(...), TermWeights(...), a fitted TermSelector or None", described(terms))
    return TermReader(terms, Tokenizer.load(terms.tokenizer))


@dataclass(frozen=True)
class NewDocuments:
    """Documents as the caller gives them; ``keep_text=None`` leaves the choice to the index."""

    vectors: Any
    texts: Iterable[str] | None = None
    ids: Any = None
    term_weights: Any = None
    payload: Any = None
    keep_text: bool | None = None


@dataclass(frozen=True)
class Documents:
    """New documents, row by row; every part has as many rows as ``ids``, but for the vectors that are missing."""

    vectors: Vectors
    ids: IdColumn
    bags: Bags | None
    stored: Ragged | None
    #: What bags are stored of: the terms that texts have, or the weights that were given. None if there are none.
    words: Bags | None = None
    #: Which documents have a vector; None if all have.
    has_vector: Bools | None = None
    #: The columns of the payload that were declared to hold anything.
    free: frozenset[str] = frozenset()

    @lazy
    def vector_rows(self) -> I64:
        """The row of every document in ``vectors``; -1 where it has none."""
        if self.has_vector is None:
            return np.arange(len(self.ids))
        return np.where(self.has_vector, np.cumsum(self.has_vector) - 1, -1)

    def check_findable(self, evidence: bool) -> None:
        """Refuse documents without a vector where ``evidence`` says that words find nothing."""
        if self.has_vector is not None and not evidence:
            row = int(np.flatnonzero(~self.has_vector)[0])
            must = "given for every document: this index keeps no words (bags) that would find the others"
            raise invalid("vectors", must, f"None in row {row}")


def collect(
    vectors: Any,
    texts: Iterable[str] | None,
    *,
    ids: Any,
    term_weights: Any,
    payload: Any,
    types: ColumnTypes | None = None,
    keep_text: bool,
    metric: str,
    dim: int | None,
    reader: TermReader | None,
    encoder: Encoder | None,
    first_id: int,
    progress: Progress,
) -> Documents:
    """Return the caller's documents, checked against each other.

    Without vectors the encoder makes them. Where there is none, and where a vector is None, documents have no vector.
    """
    keep_text = boolean("keep_text", keep_text)
    texts = None if texts is None else entries(texts, name="texts", must="one string per document")
    given_ids = None if ids is None else id_column(ids)
    names = None if given_ids is None else given_ids.as_list()
    lines = StoredLines(
        payload,
        types or ColumnTypes(),
        lambda row: first_id + row if names is None else names[row] if row < len(names) else None,
    )
    passed = None
    if vectors is None:
        if texts is None or (encoder is None and dim is None):
            must = "given, unless there are texts and an encoder to make them (create(dim=...) begins without vectors)"
            raise invalid("vectors", must, None)
        passed = _read_texts(texts, lines, reader, encoder, keep_text=keep_text, n_docs=None, progress=progress)
        vectors = [None] * passed.n_docs if passed.vectors is None else passed.vectors
    source, has_vector = open_some_vectors(vectors, metric=metric, dim=dim)
    n_docs = source.n if has_vector is None else len(has_vector)
    if n_docs == 0:
        raise invalid("vectors", "of at least one document", "an empty array")
    if ids is None and first_id + n_docs > 2**63:
        raise invalid("ids", "given: the integers that follow the last id are used up", None)
    column = given_ids
    if column is None:
        column = IdColumn(np.arange(first_id, first_id + n_docs, dtype=np.int64))
    _check_count("ids", len(column), n_docs)
    if keep_text and texts is None:
        raise invalid("keep_text", "False where no texts are given", True)
    bags = None
    if reader is not None and isinstance(reader.spec, TermWeights) and term_weights is None:
        raise invalid("term_weights", "given: the index files documents by given weights", None)
    if reader is not None and term_weights is not None and not isinstance(reader.spec, BM25):
        # A learned scorer may have scored these documents before: its weights are taken as they are.
        bags = weigh(reader.tokenizer, term_weights)
        _check_count("term_weights", len(bags), n_docs)
    elif term_weights is not None:
        raise invalid("term_weights", "left out: terms are counted, not TermWeights", type(term_weights).__name__)
    elif reader is not None and texts is None:
        raise invalid("texts", "given, one string per document, or terms=None for an index without terms", None)
    if passed is None:
        given = bags is not None
        passed = _read_texts(
            texts, lines, reader, None, keep_text=keep_text, n_docs=n_docs, progress=progress, scored=given
        )
    own = bags if bags is not None else passed.bags
    learned = reader is not None and isinstance(reader.spec, LearnedTerms)
    free = frozenset() if types is None else types.free
    return Documents(source, column, own, passed.stored, passed.words if learned else own, has_vector, free)


def collect_terms(reader: TermReader, texts: Iterable[str], n_docs: int, progress: Progress) -> Bags:
    """Return the terms of documents given as texts alone."""
    bags = _read_texts(texts, None, reader, None, keep_text=False, n_docs=n_docs, progress=progress).bags
    if bags is None:
        raise invalid("texts", "not needed where terms are given weights", "texts")
    return bags


def count_words(reader: TermReader, texts: list[str]) -> Bags:
    """Return the counted terms of documents given as texts alone."""
    collector = BagCollector()
    for batch in _batches(texts, len(texts)):
        collector.add(count(reader.tokenizer, batch))
    return collector.finish()


def _check_count(name: str, n: int, n_docs: int) -> None:
    if n != n_docs:
        raise InvalidParameter(f"The '{name}' parameter must have one entry per vector ({n_docs}). Got {n}.")


@dataclass(frozen=True)
class _TextPass:
    """The result of one pass over texts and payload."""

    bags: Bags | None = None
    stored: Ragged | None = None
    vectors: Array | None = None
    #: Counted terms, where ``bags`` has the scores of a trained scorer instead.
    words: Bags | None = None
    n_docs: int = 0


def _read_texts(
    texts: Iterable[str] | None,
    stored: StoredLines | None,
    reader: TermReader | None,
    encoder: Encoder | None,
    *,
    keep_text: bool,
    n_docs: int | None,
    progress: Progress,
    scored: bool = False,
) -> _TextPass:
    """Read texts and payload once: count terms, encode, and spool what is to be stored.

    ``scored``: a trained scorer has scored these documents before, and only their words are counted.
    """
    keep = stored is not None and (keep_text or stored.has_payload)
    if texts is None and not keep:
        return _TextPass()
    counts = reader is not None and not isinstance(reader.spec, TermWeights) and texts is not None
    counted = reader is None or isinstance(reader.spec, BM25)
    collector = BagCollector(np.uint32 if counted else np.float32)
    words = BagCollector()
    vectors, lines = VectorSpool(), Spool(np.uint8)
    ends: list[U64] = []
    n_texts = n_bytes = 0
    with progress.phase("read texts", n_docs) as report:
        for batch in _batches(texts, n_docs or 0):
            for row, text in enumerate(batch, n_texts):
                if text is not None and not isinstance(text, str):
                    raise invalid("texts", "strings", f"a {type(text).__name__} in row {row}")
            known = [text or "" for text in batch]
            encoded, bags = _encode_and_count(known, encoder, reader if counts and not scored else None)
            if encoded is not None:
                vectors.append(encoded)
            if bags is not None:
                collector.add(bags)
            if counts and not counted and reader is not None:
                words.add(count(reader.tokenizer, known))
            if keep and stored is not None:
                own = [stored.line(text if keep_text else None, row) for row, text in enumerate(batch, n_texts)]
                column = Ragged.of(own)
                ends.append(column.ends + np.uint64(n_bytes))
                n_bytes += len(column.data)
                lines.append(column.data)
            n_texts += len(batch)
            report(len(batch))
    if n_texts == 0:
        raise invalid("texts", "of at least one document", "none")
    _check_count("texts", n_texts, n_texts if n_docs is None else n_docs)
    if stored is not None:
        stored.finish(n_texts)
    return _TextPass(
        bags=collector.finish() if counts and not scored else None,
        stored=Ragged(np.concatenate(ends), lines.finish()) if keep else None,
        vectors=None if encoder is None else vectors.finish(),
        words=words.finish() if counts and not counted else None,
        n_docs=n_texts,
    )


def _encode_and_count(
    texts: list[str], encoder: Encoder | None, reader: TermReader | None
) -> tuple[Floats | None, Bags | None]:
    """Return the vectors and the term counts of some texts, tokenizing once where both use the same tokenizer."""
    spec = None if reader is None else reader.spec
    if (
        isinstance(encoder, StaticEncoder)
        and reader is not None
        and isinstance(spec, BM25)
        and spec.max_tokens is None
        and reader.tokenizer.fingerprint == encoder.tokenizer.fingerprint
    ):
        tokens, offsets = reader.tokenizer.encode(texts)
        return encoder.average(tokens, offsets), count_tokens(reader.tokenizer, tokens, offsets)
    vectors = None if encoder is None else encode(encoder, texts)
    if reader is None or isinstance(spec, TermWeights) or spec is None:
        return vectors, None
    return vectors, spec.bags(reader.tokenizer, texts)


def _batches(texts: Iterable[str] | None, n_docs: int) -> Iterator[list[Any]]:
    rows = repeat(None, n_docs) if texts is None else entries(texts, name="texts", must="one string per document")
    while batch := list(islice(rows, _TEXTS_PER_BATCH)):
        yield batch
