"""What is there to learn from? For every query the documents its teacher and BM25 rank highest, and pools of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.data.vectors import open_vectors
from hi2.encoders.encoder import Encoder, encode
from hi2.errors import InvalidParameter, invalid
from hi2.progress import Progress
from hi2.selectors.terms import DEFAULT_QUERY_TERMS, TermSelector
from hi2.state.model import Model
from hi2.text.bags import Bags
from hi2.training.settings import Settings
from hi2.types import I64, U32, U64, Array, Floats

#: Terms in a larger share of the documents are neither mined by nor learned: their idf is next to nothing. No term is
#: common that is in no more than a few.
COMMON, FEW = 0.1, 100
#: Without a dev split this share of the queries is held out, at most so many.
DEV_SHARE, DEV_AT_MOST = 0.1, 1000
_QUERIES_AT_A_TIME = 256
#: Columns that stand behind one maximum where the best of a row are looked for.
FOLDED = 64


@dataclass(frozen=True)
class Queries:
    """Queries by row: vectors, their terms (row i's at [offsets[i], offsets[i+1])), and labelled documents if any."""

    vectors: Floats
    offsets: U64
    terms: U32
    positives: Sequence[I64] | None

    def __len__(self) -> int:
        return len(self.vectors)

    def own_terms(self, i: int) -> U32:
        """Return the distinct terms of query ``i``."""
        return self.terms[int(self.offsets[i]) : int(self.offsets[i + 1])]


@dataclass(frozen=True)
class Batch:
    """Some queries, and the rows of all documents they are taught on, each once."""

    vectors: Floats
    terms: Sequence[U32]
    pool: I64
    positives: Sequence[I64]


@dataclass(frozen=True)
class Examples:
    """Queries with the rows they are taught on: ``nearest`` (n, depth) by the teacher, ``lexical`` by BM25."""

    queries: Queries
    nearest: I64
    lexical: Sequence[I64]

    def batches(self, settings: Settings, epoch: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, whole ones only."""
        random = np.random.default_rng([settings.seed, epoch])
        order = random.permutation(len(self.queries))
        for begin in range(0, len(order) - settings.batch + 1, settings.batch):
            yield self._batch(order[begin : begin + settings.batch], settings, random)

    def looks(self, settings: Settings) -> Iterator[Batch]:
        """Yield every query once in batches that are always the same, to measure progress on."""
        random = np.random.default_rng(settings.seed)
        for begin in range(0, len(self.queries), settings.batch):
            yield self._batch(np.arange(begin, min(begin + settings.batch, len(self.queries))), settings, random)

    def _batch(self, rows: I64, settings: Settings, random: np.random.Generator) -> Batch:
        positives = [self._positives(int(i), settings, random) for i in rows]
        others = [self._negatives(int(i), settings, random) for i in rows]
        pool = np.unique(np.concatenate([*positives, *others])).astype(np.int64)
        return Batch(self.queries.vectors[rows], [self.queries.own_terms(int(i)) for i in rows], pool, positives)

    def _positives(self, i: int, settings: Settings, random: np.random.Generator) -> I64:
        if self.queries.positives is None:
            return self.nearest[i, : settings.positives]
        known = self.queries.positives[i]
        return known if len(known) <= settings.positives else random.choice(known, settings.positives, replace=False)

    def _negatives(self, i: int, settings: Settings, random: np.random.Generator) -> I64:
        """Hard ones, of the teacher's and of BM25's best; what answers a query unlabelled the teacher knows."""
        nearest, lexical = self.nearest[i], self.lexical[i]
        hard = random.choice(nearest, min(settings.hard, len(nearest)), replace=False)
        if len(lexical) == 0:
            return hard
        return np.concatenate([hard, random.choice(lexical, min(settings.lexical, len(lexical)), replace=False)])


def queries_of(
    texts: Sequence[str],
    vectors: Any,
    encoder: Encoder | None,
    positives: Sequence[Sequence[int]] | None,
    dev: Sequence[int] | None,
    data: Floats,
    model: Model,
    settings: Settings,
) -> tuple[Queries, Queries]:
    """Return training and dev queries; those without a positive are left out where there are labels."""
    if vectors is None:
        if encoder is None:
            raise invalid("query_vectors", "given, or an encoder", None)
        vectors = encode(encoder, list(texts), dim=model.dim)
    own = open_vectors(vectors, metric=model.metric, dim=model.dim)
    asked = own.read(slice(0, own.n))
    for name, count in (("queries", len(texts)), ("positives", len(asked) if positives is None else len(positives))):
        if count != len(asked):
            raise invalid(name, f"one for each query vector ({len(asked)})", count)
    rows = np.arange(len(asked))
    if positives is not None:
        known = [np.unique(np.asarray(list(found), np.int64)) for found in positives]
        for i, found in enumerate(known):
            if len(found) and not 0 <= found[0] <= found[-1] < len(data):
                raise invalid("positives", f"rows of the {len(data)} documents", f"{found} of query {i}")
        rows = np.array([i for i in rows if len(known[i])], np.int64)
    if len(rows) == 0:
        raise InvalidParameter("The 'queries' parameter must hold a query with a positive. Got none instead.")
    random = np.random.default_rng(settings.seed)
    held = _held(dev, rows, len(asked), random)
    train, kept = rows[~held[rows]], rows[held[rows]]
    if len(train) == 0 or len(kept) == 0:
        raise InvalidParameter(
            f"The 'queries' parameter must leave some to train and some to choose on. Got {len(train)} and {len(kept)}."
        )
    train = np.sort(random.permutation(train)[: settings.max_queries])
    if len(train) < settings.batch:
        raise InvalidParameter(
            f"The 'queries' parameter must hold at least one batch ({settings.batch}). Got {len(train)} to train on "
            f"instead; give more queries or a smaller batch."
        )

    def chosen(which: I64) -> Queries:
        offsets, terms = np.zeros(len(which) + 1, np.uint64), np.zeros(0, np.uint32)
        if model.terms is not None:
            offsets, terms = query_terms(model.terms, [texts[i] for i in which])
        return Queries(asked[which], offsets, terms, None if positives is None else [known[i] for i in which])

    return chosen(train), chosen(kept[:DEV_AT_MOST])


def _held(dev: Sequence[int] | None, rows: I64, n: int, random: np.random.Generator) -> Array:
    """Which queries are held out: those that are named, or a share of those that may be learned from."""
    held = np.zeros(n, bool)
    if dev is None:
        held[random.permutation(rows)[: min(DEV_AT_MOST, max(1, round(DEV_SHARE * len(rows))))]] = True
        return held
    positions = np.asarray(list(dev), np.int64)
    if len(positions) and not 0 <= positions.min() <= positions.max() < n:
        raise invalid("dev", f"positions of the {n} queries", f"{positions.min()} to {positions.max()}")
    held[positions] = True
    return held


def examples_of(
    queries: Queries,
    vectors: Floats,
    bags: Bags | None,
    selector: TermSelector | None,
    settings: Settings,
    bars: Progress,
) -> Examples:
    """Mine the teacher's and BM25's best documents of every query."""
    depth = min(settings.depth, len(vectors))
    nearest = nearest_rows(queries, vectors, depth, bars)
    if bags is None or selector is None or settings.lexical == 0:
        return Examples(queries, nearest, [np.zeros(0, np.int64)] * len(queries))
    with bars.phase("mine BM25's best", len(queries)) as advance:
        lists = Lists(bags, selector.scores(bags), selector.n_terms)
        lexical = []
        for i in range(len(queries)):
            lexical.append(lists.best(queries.own_terms(i), depth))
            advance(1)
    return Examples(queries, nearest, lexical)


def nearest_rows(queries: Queries, vectors: Floats, depth: int, bars: Progress) -> I64:
    """Return the ``depth`` documents that the teacher ranks highest for every query, best first."""
    nearest = np.empty((len(queries), depth), np.int64)
    with bars.phase("ask the teacher", len(queries)) as advance:
        for begin in range(0, len(queries), _QUERIES_AT_A_TIME):
            block = queries.vectors[begin : begin + _QUERIES_AT_A_TIME]
            nearest[begin : begin + len(block)] = best_rows(block @ vectors.T, depth)
            advance(len(block))
    return nearest


def best_rows(scores: Floats, depth: int) -> I64:
    """Return the ``depth`` best columns of every row, best first; of equals the lower column.

    Folded to maxima of some columns each, the ``depth`` largest maxima bound the best from below: one pass over a row
    instead of a partition, which takes four times as long at 250,000 columns.
    """
    n, width = scores.shape
    depth, folds = min(depth, width), width // FOLDED
    floor = np.full(n, -np.inf, scores.dtype)
    if folds > depth:
        maxima = scores[:, : folds * FOLDED].reshape(n, FOLDED, folds).max(1)
        floor = np.partition(maxima, folds - depth, axis=1)[:, folds - depth]
    best = np.empty((n, depth), np.int64)
    for i, row in enumerate(scores):
        at = np.flatnonzero(row >= floor[i])
        best[i] = at[np.argsort(-row[at], kind="stable")[:depth]]
    return best


class Lists:
    """Scored postings of every term that is not too common."""

    def __init__(self, bags: Bags, scores: Floats, n_terms: int) -> None:
        self._n = len(bags)
        rows = np.repeat(np.arange(len(bags), dtype=np.int32), np.diff(bags.offsets).astype(np.int64))
        df = np.bincount(bags.terms, minlength=n_terms)
        keep = df[bags.terms] <= max(COMMON * self._n, FEW)
        order = np.argsort(bags.terms[keep], kind="stable")
        self._rows, self._scores = rows[keep][order], np.asarray(scores)[keep][order]
        counts = np.bincount(bags.terms[keep], minlength=n_terms)
        self._starts = np.append(0, np.cumsum(counts))

    def best(self, terms: Array, depth: int) -> I64:
        """Return the rows with the largest sums over some terms, best first."""
        spans = [slice(int(self._starts[term]), int(self._starts[term + 1])) for term in terms]
        if not spans:
            return np.zeros(0, np.int64)
        rows = np.concatenate([self._rows[span] for span in spans])
        sums = np.bincount(rows, weights=np.concatenate([self._scores[span] for span in spans]), minlength=self._n)
        met = np.flatnonzero(sums > 0)
        best: I64 = met[best_rows(sums[None, met].astype(np.float32), depth)[0]]
        return best


def query_terms(selector: TermSelector, texts: Sequence[str]) -> tuple[U64, U32]:
    """Return the distinct terms of texts as a search would open them."""
    return selector.query_terms(texts, DEFAULT_QUERY_TERMS, threads=None)


def dense(offsets: U64, terms: U32, values: Floats, rows: I64, columns: Array) -> tuple[Array, Array, Floats]:
    """Return (row position, column, value) of some rows' entries whose column (-1: none) is wanted."""
    starts, ends = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
    counts = ends - starts
    at = np.repeat(starts - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(int(counts.sum()))
    own = columns[terms[at]]
    keep = own >= 0
    return np.repeat(np.arange(len(rows)), counts)[keep], own[keep], values[at[keep]]
