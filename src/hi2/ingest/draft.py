"""What will a segment hold? Every document with its cluster, its terms and its codes, in order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

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
from hi2.state.segment import NO_CLUSTER
from hi2.text.bags import Bags
from hi2.types import I64, U32, U64, Array, Bools, Bytes

_VECTORS_PER_BLOCK = 16_384


@dataclass(frozen=True)
class Postings:
    """The documents filed under each key, as parallel arrays."""

    keys: U32
    rows: U32
    ranks: U32


@dataclass(frozen=True)
class StoredRows:
    """JSON lines to store: the length of every row's line, and a function that reads the lines of some rows.

    ``free`` are the columns of their payload that were declared to hold anything.
    """

    lengths: U64
    read: Callable[[I64], Ragged]
    free: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pruned:
    """What γ removed."""

    lists: int = 0
    postings: int = 0


@dataclass(frozen=True)
class Draft:
    """What a segment will hold, by arrival row.

    ``labels`` is the cluster of every row, ``NO_CLUSTER`` where it has no vector. ``codes`` and ``refine_codes`` return
    the codes of some rows that have one. ``terms`` and ``copies`` are postings (key, row, rank). ``stored`` gives JSON
    lines.
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
    documents.check_findable(model.evidence is not None)
    labels, copies = _assign(model, documents, threads, progress)
    terms, pruned = None, Pruned()
    if model.terms is not None and documents.bags is not None:
        terms, pruned = term_postings(model.terms, documents.bags)
    if model.evidence is not None and documents.words is None:
        raise invalid("texts", "given: documents of this index have bags of their words", None)

    stored = documents.stored
    return Draft(
        ids=documents.ids,
        labels=labels,
        codes=encoder_of(model, model.codec, documents, labels, threads=threads),
        refine_codes=None
        if model.refine is None
        else encoder_of(model, model.refine, documents, labels, threads=threads),
        terms=terms,
        copies=copies,
        stored=None if stored is None else StoredRows(stored.lengths, stored.take, documents.free),
        notes=note_postings(model.terms, documents.bags, terms, documents.words, labels == NO_CLUSTER),
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


def note_postings(
    selector: TermSelector | None, bags: Bags | None, filed: Postings | None, words: Bags | None, all_of: Bools
) -> Postings | None:
    """Return the documents noted under each term; None where no bags are kept.

    ``all_of`` are the documents that are noted under all their words, because nothing else leads to them.
    """
    if selector is None or selector.evidence is None or bags is None:
        return None
    rows, terms = selector.notes(bags)
    if words is not None and all_of.any():
        own = words.take(np.flatnonzero(all_of))
        owners = np.repeat(np.flatnonzero(all_of), np.diff(own.offsets).astype(np.int64))
        known = [_pairs(rows, terms), *([] if filed is None else [_pairs(filed.rows, filed.keys)])]
        further = _absent(_pairs(owners, own.terms), np.sort(np.concatenate(known)))
        rows = np.append(rows, (further >> np.uint64(32)).astype(np.uint32))
        terms = np.append(terms, further.astype(np.uint32))
    return Postings(terms, rows, np.zeros(len(rows), np.uint32))


def _pairs(rows: Array, terms: U32) -> U64:
    """Each row with its term, as one integer."""
    return rows.astype(np.uint64) << np.uint64(32) | terms


def _absent(values: U64, known: U64) -> U64:
    """The values that are not among the known ones, which rise."""
    places = np.searchsorted(known, values)
    found = np.zeros(len(values), bool)
    inside = places < len(known)
    found[inside] = known[places[inside]] == values[inside]
    return values[~found]


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


def encoder_of(
    model: Model, codec: Codec, documents: Documents, labels: U32, *, threads: int
) -> Callable[[I64], Bytes]:
    """Return a function that encodes some rows that have vectors, relative to their clusters if it is residual."""

    def encode(rows: I64) -> Bytes:
        block = documents.vectors.read(documents.vector_rows[rows])
        if codec.spec.residual and model.clusters is not None:
            block = model.clusters.residuals(block, labels[rows])
        return codec.encode(block, threads=threads)

    return encode


def _assign(model: Model, documents: Documents, threads: int, progress: Progress) -> tuple[U32, Postings | None]:
    """The cluster of every document, and the further clusters of some."""
    rows = np.flatnonzero(documents.vector_rows >= 0)
    own, copies = _assign_vectors(model, documents.vectors, threads, progress)
    labels = np.full(len(documents.ids), NO_CLUSTER, np.uint32)
    labels[rows] = own
    return labels, None if copies is None else replace(copies, rows=rows[copies.rows].astype(np.uint32))


def _assign_vectors(model: Model, vectors: Vectors, threads: int, progress: Progress) -> tuple[U32, Postings | None]:
    if model.clusters is None:
        for begin in range(0, vectors.n, _VECTORS_PER_BLOCK):
            vectors.read(slice(begin, begin + _VECTORS_PER_BLOCK))  # refuses NaN before anything is written
        return np.zeros(vectors.n, np.uint32), None
    labels, pairs = [np.zeros(0, np.uint32)], [np.zeros((0, 2), np.uint32)]
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
