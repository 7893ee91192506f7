"""What will a segment hold? Every document with its cluster, its terms and its codes, in order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hi2.codecs import Codec
from hi2.data.ids import IdColumn
from hi2.data.ragged import Ragged
from hi2.data.vectors import Vectors
from hi2.errors import invalid
from hi2.ingest.documents import Documents
from hi2.progress import Progress
from hi2.selectors.terms import TermSelector
from hi2.state.model import Model
from hi2.text.bags import Bags
from hi2.types import I64, U32, U64, Array, Bytes

_VECTORS_PER_BLOCK = 16_384


@dataclass(frozen=True)
class Postings:
    """The documents filed under each key, as parallel arrays."""

    keys: U32
    rows: U32
    ranks: U32


@dataclass(frozen=True)
class StoredRows:
    """JSON lines to store: the length of every row's line, and a function that reads the lines of some rows."""

    lengths: U64
    read: Callable[[I64], Ragged]


@dataclass(frozen=True)
class Pruned:
    """What γ removed."""

    lists: int = 0
    postings: int = 0


@dataclass(frozen=True)
class Draft:
    """What a segment will hold, by arrival row.

    ``labels`` is the cluster of every row. ``codes`` and ``refine_codes`` return the codes of some rows. ``terms`` and
    ``copies`` are postings (key, row, rank). ``stored`` gives JSON lines.
    """

    ids: IdColumn
    labels: U32
    codes: Callable[[I64], Bytes]
    refine_codes: Callable[[I64], Bytes] | None
    terms: Postings | None = None
    copies: Postings | None = None
    stored: StoredRows | None = None
    #: The documents that are noted under each term, beside those that are filed under it.
    notes: Postings | None = None
    #: The bags of some rows, as they are stored; terms by rank.
    bags: Callable[[I64], Bags] | None = None
    #: Term numbers of lists and bags are below this.
    n_terms: int = 0
    pruned: Pruned = field(default_factory=Pruned)


def draft_of(model: Model, documents: Documents, *, threads: int, progress: Progress) -> Draft:
    """Return the draft of a segment: every document with its cluster, its terms and its codes."""
    labels, copies = _assign(model, documents.vectors, threads, progress)
    terms, pruned = None, Pruned()
    if model.terms is not None and documents.bags is not None:
        terms, pruned = term_postings(model.terms, documents.bags)
    if model.evidence is not None and documents.words is None:
        raise invalid("texts", "given: documents of this index have bags of their words", None)

    stored = documents.stored
    return Draft(
        ids=documents.ids,
        labels=labels,
        codes=encoder_of(model, model.codec, documents.vectors, labels, threads=threads),
        refine_codes=None
        if model.refine is None
        else encoder_of(model, model.refine, documents.vectors, labels, threads=threads),
        terms=terms,
        copies=copies,
        stored=None if stored is None else StoredRows(stored.lengths, stored.take),
        notes=note_postings(model.terms, documents.bags),
        bags=bag_reader(model.terms, documents.words),
        n_terms=0 if model.terms is None else model.terms.tokenizer.n_terms,
        pruned=pruned,
    )


def bag_reader(selector: TermSelector | None, words: Bags | None) -> Callable[[I64], Bags] | None:
    """Return a function that gives the bags of some rows as they are stored; None where no bags are kept."""
    evidence = None if selector is None else selector.evidence
    if evidence is None or words is None:
        return None

    def read(rows: I64) -> Bags:
        own = evidence.counts(words.take(rows))
        return Bags(own.offsets, evidence.native.ranks(own.terms), own.values, own.lengths)

    return read


def term_postings(selector: TermSelector, bags: Bags) -> tuple[Postings, Pruned]:
    """Return the documents filed under each term; super-big lists are pruned if the selector says so."""
    selection = selector.select(bags)
    counts = np.diff(selection.offsets).astype(np.int64)
    rows = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    ranks = (np.arange(len(rows)) - np.repeat(selection.offsets[:-1].astype(np.int64), counts)).astype(np.uint32)
    postings = Postings(selection.terms, rows, ranks)
    if selector.spec.gamma is None:
        return postings, Pruned()
    return prune(postings, selection.scores, selector.spec.gamma)


def note_postings(selector: TermSelector | None, bags: Bags | None) -> Postings | None:
    """Return the documents noted under each term; None where no bags are kept."""
    if selector is None or selector.evidence is None or bags is None:
        return None
    rows, terms = selector.notes(bags)
    return Postings(terms, rows, np.zeros(len(rows), np.uint32))


def prune(postings: Postings, scores: Array, gamma: float) -> tuple[Postings, Pruned]:
    """Prune super-big lists: those longer than the list at quantile ``gamma`` lose their lowest-scored documents.

    The quantile is over non-empty lists. Of documents with equal scores the one that arrived later is removed first.
    """
    lengths = np.bincount(postings.keys)
    occupied = np.sort(lengths[lengths > 0])
    if not len(occupied):
        return postings, Pruned()
    threshold = int(occupied[min(len(occupied) - 1, int(gamma * len(occupied)))])
    big = np.flatnonzero(lengths > threshold)
    order = np.lexsort((postings.rows, -scores, postings.keys))
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    place = np.arange(len(order)) - starts[postings.keys[order]]
    keep = np.zeros(len(order), bool)
    keep[order[place < threshold]] = True
    removed = len(keep) - int(keep.sum())
    return Postings(postings.keys[keep], postings.rows[keep], postings.ranks[keep]), Pruned(len(big), removed)


def encoder_of(model: Model, codec: Codec, vectors: Vectors, labels: U32, *, threads: int) -> Callable[[I64], Bytes]:
    """Return a function that encodes some rows, relative to their clusters where the codec is residual."""

    def encode(rows: I64) -> Bytes:
        block = vectors.read(rows)
        if codec.spec.residual and model.clusters is not None:
            block = model.clusters.residuals(block, labels[rows])
        return codec.encode(block, threads=threads)

    return encode


def _assign(model: Model, vectors: Vectors, threads: int, progress: Progress) -> tuple[U32, Postings | None]:
    if model.clusters is None:
        for begin in range(0, vectors.n, _VECTORS_PER_BLOCK):
            vectors.read(slice(begin, begin + _VECTORS_PER_BLOCK))  # refuses NaN before anything is written
        return np.zeros(vectors.n, np.uint32), None
    labels, pairs = [], []
    with progress.phase("assign clusters", vectors.n) as report:
        for begin in range(0, vectors.n, _VECTORS_PER_BLOCK):
            block = vectors.read(slice(begin, begin + _VECTORS_PER_BLOCK))
            own, copies = model.clusters.assign(block, threads=threads)
            labels.append(own)
            pairs.append(copies + np.array([begin, 0], np.uint32))
            report(len(block))
    copied = np.concatenate(pairs)
    postings = Postings(copied[:, 1].copy(), copied[:, 0].copy(), np.zeros(len(copied), np.uint32))
    return np.concatenate(labels), postings
