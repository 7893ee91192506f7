"""What do students learn from? For every query, documents that the teacher and BM25 rank highest, pooled by batch."""

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

#: Terms in more than 10% of the documents, and in more than 100, are common. They are not used in mining or training,
#: because their idf is close to zero.
COMMON_SHARE, COMMON_MIN_DOCS = 0.1, 100
#: Without a dev split a tenth of the queries is held out, at most 1,000.
DEV_SHARE, MAX_DEV_QUERIES = 0.1, 1000
_QUERIES_AT_A_TIME = 256
#: Columns that are reduced to one maximum; see ``top_columns``.
FOLD_SIZE = 64


@dataclass(frozen=True)
class Queries:
    """Vectors and terms of queries (terms of query i at [offsets[i], offsets[i+1])), and labelled documents if any."""

    vectors: Floats
    offsets: U64
    terms: U32
    positives: Sequence[I64] | None

    def __len__(self) -> int:
        return len(self.vectors)

    def terms_of(self, i: int) -> U32:
        """Return the distinct terms of query ``i``."""
        return self.terms[int(self.offsets[i]) : int(self.offsets[i + 1])]


@dataclass(frozen=True)
class Batch:
    """Some queries, and the pool: the rows of all documents they are trained on, sorted and distinct."""

    vectors: Floats
    terms: Sequence[U32]
    pool: I64
    positives: Sequence[I64]


@dataclass(frozen=True)
class Examples:
    """Queries with the rows they are trained on: ``nearest`` (n, depth) by the teacher, ``lexical`` by BM25."""

    queries: Queries
    nearest: I64
    lexical: Sequence[I64]

    def batches(self, settings: Settings, epoch: int) -> Iterator[Batch]:
        """Yield the batches of an epoch in random order; an incomplete last batch is left out."""
        random = np.random.default_rng([settings.seed, epoch])
        order = random.permutation(len(self.queries))
        for begin in range(0, len(order) - settings.batch + 1, settings.batch):
            yield self._batch(order[begin : begin + settings.batch], settings, random)

    def fixed_batches(self, settings: Settings) -> Iterator[Batch]:
        """Yield every query once, in batches that are the same on every call; used to measure progress."""
        random = np.random.default_rng(settings.seed)
        for begin in range(0, len(self.queries), settings.batch):
            yield self._batch(np.arange(begin, min(begin + settings.batch, len(self.queries))), settings, random)

    def _batch(self, rows: I64, settings: Settings, random: np.random.Generator) -> Batch:
        positives = [self._positives(int(i), settings, random) for i in rows]
        negatives = [self._negatives(int(i), settings, random) for i in rows]
        pool = np.unique(np.concatenate([*positives, *negatives])).astype(np.int64)
        return Batch(self.queries.vectors[rows], [self.queries.terms_of(int(i)) for i in rows], pool, positives)

    def _positives(self, i: int, settings: Settings, random: np.random.Generator) -> I64:
        if self.queries.positives is None:
            return self.nearest[i, : settings.positives]
        known = self.queries.positives[i]
        return known if len(known) <= settings.positives else random.choice(known, settings.positives, replace=False)

    def _negatives(self, i: int, settings: Settings, random: np.random.Generator) -> I64:
        """Return hard negatives, sampled from the teacher's best and from BM25's best.

        Some may answer the query without a label. That does no harm: the teacher scores them too.
        """
        nearest, lexical = self.nearest[i], self.lexical[i]
        hard = random.choice(nearest, min(settings.hard, len(nearest)), replace=False)
        if len(lexical) == 0:
            return hard
        return np.concatenate([hard, random.choice(lexical, min(settings.lexical, len(lexical)), replace=False)])


def split_queries(
    texts: Sequence[str],
    vectors: Any,
    encoder: Encoder | None,
    positives: Sequence[Sequence[int]] | None,
    dev: Sequence[int] | None,
    data: Floats,
    model: Model,
    settings: Settings,
) -> tuple[Queries, Queries]:
    """Return training and dev queries. If there are labels, queries without a positive are left out."""
    if vectors is None:
        if encoder is None:
            raise invalid("query_vectors", "given, or an encoder", None)
        vectors = encode(encoder, list(texts), dim=model.dim)
    source = open_vectors(vectors, metric=model.metric, dim=model.dim)
    asked = source.read(slice(0, source.n))
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
        raise InvalidParameter("The 'queries' parameter must hold a query with a positive. Got none.")
    random = np.random.default_rng(settings.seed)
    is_dev = _dev_mask(dev, rows, len(asked), random)
    train, held_out = rows[~is_dev[rows]], rows[is_dev[rows]]
    if len(train) == 0 or len(held_out) == 0:
        raise InvalidParameter(
            "The 'queries' parameter must leave some to train and some to choose on. "
            f"Got {len(train)} and {len(held_out)}."
        )
    train = np.sort(random.permutation(train)[: settings.max_queries])
    if len(train) < settings.batch:
        raise InvalidParameter(
            f"The 'queries' parameter must hold at least one batch ({settings.batch}). Got {len(train)} to train on; "
            "give more queries or a smaller batch."
        )

    def select(chosen: I64) -> Queries:
        offsets, terms = np.zeros(len(chosen) + 1, np.uint64), np.zeros(0, np.uint32)
        if model.terms is not None:
            offsets, terms = query_terms(model.terms, [texts[i] for i in chosen])
        return Queries(asked[chosen], offsets, terms, None if positives is None else [known[i] for i in chosen])

    return select(train), select(held_out[:MAX_DEV_QUERIES])


def _dev_mask(dev: Sequence[int] | None, rows: I64, n: int, random: np.random.Generator) -> Array:
    """Flag the dev queries: those at the positions ``dev``, or a random share of ``rows``."""
    is_dev = np.zeros(n, bool)
    if dev is None:
        is_dev[random.permutation(rows)[: min(MAX_DEV_QUERIES, max(1, round(DEV_SHARE * len(rows))))]] = True
        return is_dev
    positions = np.asarray(list(dev), np.int64)
    if len(positions) and not 0 <= positions.min() <= positions.max() < n:
        raise invalid("dev", f"positions of the {n} queries", f"{positions.min()} to {positions.max()}")
    is_dev[positions] = True
    return is_dev


def mine_examples(
    queries: Queries,
    vectors: Floats,
    bags: Bags | None,
    selector: TermSelector | None,
    settings: Settings,
    bars: Progress,
) -> Examples:
    """Return the queries with the best documents of each by the teacher and by BM25."""
    depth = min(settings.depth, len(vectors))
    nearest = nearest_rows(queries, vectors, depth, bars)
    if bags is None or selector is None or settings.lexical == 0:
        return Examples(queries, nearest, [np.zeros(0, np.int64)] * len(queries))
    with bars.phase("mine BM25's best", len(queries)) as advance:
        lists = PostingLists(bags, selector.scores(bags), selector.n_terms)
        lexical = []
        for i in range(len(queries)):
            lexical.append(lists.best(queries.terms_of(i), depth))
            advance(1)
    return Examples(queries, nearest, lexical)


def nearest_rows(queries: Queries, vectors: Floats, depth: int, bars: Progress) -> I64:
    """Return the ``depth`` documents that the teacher ranks highest for each query, best first: (n, depth)."""
    nearest = np.empty((len(queries), depth), np.int64)
    with bars.phase("ask the teacher", len(queries)) as advance:
        for begin in range(0, len(queries), _QUERIES_AT_A_TIME):
            block = queries.vectors[begin : begin + _QUERIES_AT_A_TIME]
            nearest[begin : begin + len(block)] = top_columns(block @ vectors.T, depth)
            advance(len(block))
    return nearest


def top_columns(scores: Floats, depth: int) -> I64:
    """Return the ``depth`` highest-scoring columns of every row, best first; ties go to the lower column.

    Columns are first reduced to the maxima of groups. The ``depth``-th largest maximum is a lower bound on the scores
    to be returned, so only columns at or above it are sorted. This takes one pass over a row; a partition of the whole
    row takes four times as long at 250,000 columns.
    """
    n, width = scores.shape
    depth, folds = min(depth, width), width // FOLD_SIZE
    floor = np.full(n, -np.inf, scores.dtype)
    if folds > depth:
        maxima = scores[:, : folds * FOLD_SIZE].reshape(n, FOLD_SIZE, folds).max(1)
        floor = np.partition(maxima, folds - depth, axis=1)[:, folds - depth]
    best = np.empty((n, depth), np.int64)
    for i, row in enumerate(scores):
        at = np.flatnonzero(row >= floor[i])
        best[i] = at[np.argsort(-row[at], kind="stable")[:depth]]
    return best


class PostingLists:
    """Postings with scores for every term that is not common."""

    def __init__(self, bags: Bags, scores: Floats, n_terms: int) -> None:
        self._n = len(bags)
        rows = np.repeat(np.arange(len(bags), dtype=np.int32), np.diff(bags.offsets).astype(np.int64))
        df = np.bincount(bags.terms, minlength=n_terms)
        keep = df[bags.terms] <= max(COMMON_SHARE * self._n, COMMON_MIN_DOCS)
        order = np.argsort(bags.terms[keep], kind="stable")
        self._rows, self._scores = rows[keep][order], np.asarray(scores)[keep][order]
        counts = np.bincount(bags.terms[keep], minlength=n_terms)
        self._starts = np.append(0, np.cumsum(counts))

    def best(self, terms: Array, depth: int) -> I64:
        """Return the rows with the largest sums of scores over ``terms``, best first."""
        spans = [slice(int(self._starts[term]), int(self._starts[term + 1])) for term in terms]
        if not spans:
            return np.zeros(0, np.int64)
        rows = np.concatenate([self._rows[span] for span in spans])
        sums = np.bincount(rows, weights=np.concatenate([self._scores[span] for span in spans]), minlength=self._n)
        matches = np.flatnonzero(sums > 0)
        best: I64 = matches[top_columns(sums[None, matches].astype(np.float32), depth)[0]]
        return best


def query_terms(selector: TermSelector, texts: Sequence[str]) -> tuple[U64, U32]:
    """Return the distinct terms with statistics that a search would open for each text, as (offsets, terms)."""
    offsets, terms, _, _ = selector.query_terms(texts, DEFAULT_QUERY_TERMS, threads=None)
    known = terms < selector.n_terms
    if not known.all():
        offsets = np.append(np.uint64(0), np.cumsum(known, dtype=np.uint64))[offsets.astype(np.int64)]
    return offsets, terms[known]


def gather_entries(offsets: U64, terms: U32, values: Floats, rows: I64, columns: Array) -> tuple[Array, Array, Floats]:
    """Return (position in ``rows``, column, value) of the entries of ``rows`` whose term has a column, not -1."""
    starts, ends = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
    counts = ends - starts
    at = np.repeat(starts - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(int(counts.sum()))
    entry_columns = columns[terms[at]]
    keep = entry_columns >= 0
    return np.repeat(np.arange(len(rows)), counts)[keep], entry_columns[keep], values[at[keep]]
