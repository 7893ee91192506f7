"""Which terms is a document filed under, and which does a query open? (§4.2 of the paper)

Documents need scores: BM25's, weights the caller gives, or those of a trained scorer. Queries need only the mean score
of every term: a short query opens all its terms, a long one those with the highest means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import normalise_integers, real, thread_count
from hi2.data.lazy import lazy
from hi2.errors import InvalidParameter
from hi2.selectors.learned import TermScorer
from hi2.text.bags import Bags, count, weigh
from hi2.text.tokenizer import Analyzer
from hi2.types import U32, U64, Array, Floats

#: A query longer than this opens only its best terms (K₂ᵀ of the paper).
DEFAULT_QUERY_TERMS = 32
MAX_PER_DOC = 256
_ROWS_AT_A_TIME = 16_384


@dataclass(frozen=True)
class BM25:
    """File a document under its ``per_doc`` best terms by BM25 (eq. 7 of the paper).

    ``tokenizer`` is anything ``Tokenizer.load`` accepts; None is BERT's WordPiece. ``max_tokens`` truncates documents.
    ``gamma`` is a quantile of list lengths (0.996 in the paper): longer lists are cut to that length and lose their
    lowest-scored documents. A document is filed under at most half of its distinct terms, rounded up, so that a short
    one is not filed under its stop words.

    >>> BM25(per_doc=3).per_doc
    3
    """

    per_doc: int = 15
    alpha: float = 0.82
    beta: float = 0.68
    gamma: float | None = None
    max_tokens: int | None = None
    tokenizer: Any = None

    def __post_init__(self) -> None:
        normalise_integers(self, per_doc=(1, MAX_PER_DOC), max_tokens=(1, 2**63 - 1))
        object.__setattr__(self, "alpha", real("alpha", self.alpha, low=0.0, high=100.0))
        object.__setattr__(self, "beta", real("beta", self.beta, low=0.0, high=1.0))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", real("gamma", self.gamma, low=0.0, high=1.0))

    def bags(self, tokenizer: Analyzer, texts: Sequence[str]) -> Bags:
        """Return the term counts of some texts."""
        return count(tokenizer, texts, max_tokens=self.max_tokens)

    def fit(self, bags: Bags, tokenizer: Analyzer) -> TermSelector:
        """Return the selector fitted to these documents: document frequencies, average length and mean scores."""
        return fit_terms(replace(self, tokenizer=None), bags, tokenizer)


@dataclass(frozen=True)
class TermWeights:
    """File a document under its ``per_doc`` best terms by given weights (SPLADE, uniCOIL, keywords).

    >>> TermWeights(per_doc=3).per_doc
    3
    """

    per_doc: int = 15
    gamma: float | None = None
    tokenizer: Any = None

    def __post_init__(self) -> None:
        normalise_integers(self, per_doc=(1, MAX_PER_DOC))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", real("gamma", self.gamma, low=0.0, high=1.0))

    def bags(self, tokenizer: Analyzer, rows: Any) -> Bags:
        """Return the given weights as bags."""
        return weigh(tokenizer, rows)

    def fit(self, bags: Bags, tokenizer: Analyzer) -> TermSelector:
        """Return the selector fitted to these documents: document frequencies and mean weights."""
        return fit_terms(replace(self, tokenizer=None), bags, tokenizer)


@dataclass(frozen=True)
class LearnedTerms:
    """File a document under its ``per_doc`` best terms by a trained ``scorer``."""

    per_doc: int = 15
    gamma: float | None = None
    tokenizer: Any = None
    scorer: TermScorer | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        normalise_integers(self, per_doc=(1, MAX_PER_DOC))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", real("gamma", self.gamma, low=0.0, high=1.0))

    def bags(self, tokenizer: Analyzer, texts: Sequence[str]) -> Bags:
        """Return the terms of some texts with their scores."""
        if self.scorer is None:
            raise InvalidParameter("LearnedTerms has no scorer: it comes from training, or with an index.")
        return self.scorer.weights(tokenizer, texts)


@dataclass(frozen=True)
class Selection:
    """The terms documents are filed under: those of row i are at [offsets[i], offsets[i+1]), best first."""

    offsets: U64
    terms: U32
    scores: Floats


@dataclass(frozen=True)
class TermSelector:
    """A fitted term selector. Its statistics stay as they were fitted; documents added later are scored with them."""

    spec: BM25 | TermWeights | LearnedTerms
    tokenizer: Analyzer
    df: U32
    n_docs: int
    average_length: float
    mean_scores: Floats
    #: Trained factors of the scores, one per term; None if nothing was trained.
    gains: Floats | None = None

    @property
    def n_terms(self) -> int:
        """Term numbers are below this."""
        return self.tokenizer.n_terms

    @lazy
    def idf(self) -> Array:
        """ln(1 + (N - df + 0.5) / (df + 0.5)) of every term."""
        df = self.df.astype(np.float64)
        return np.log1p((self.n_docs - df + 0.5) / (df + 0.5))

    def scores(self, bags: Bags) -> Floats:
        """Return the score of every (document, term) pair of ``bags`` (s_v)."""
        plain = self._plain_scores(bags)
        return plain if self.gains is None else plain * self.gains[bags.terms]

    def _plain_scores(self, bags: Bags) -> Floats:
        if not isinstance(self.spec, BM25):
            return np.asarray(bags.values, np.float32)
        alpha, beta = self.spec.alpha, self.spec.beta
        tf = bags.values.astype(np.float64)
        relative = bags.lengths / max(self.average_length, 1e-9)
        norm = np.repeat(alpha * (1 - beta + beta * relative), np.diff(bags.offsets).astype(np.int64))
        return ((alpha + 1) * self.idf[bags.terms] * tf / (tf + norm)).astype(np.float32)

    def select(self, bags: Bags) -> Selection:
        """Return the terms every document is filed under."""
        offsets, terms, scores = [np.zeros(1, np.uint64)], [], []
        for begin in range(0, len(bags), _ROWS_AT_A_TIME):
            part = bags.part(begin, min(begin + _ROWS_AT_A_TIME, len(bags)))
            part_scores = self.scores(part)
            limits = np.full(len(part), self.spec.per_doc, np.uint32)
            if isinstance(self.spec, BM25):
                distinct = np.diff(part.offsets).astype(np.uint32)
                limits = np.minimum(limits, np.maximum((distinct + 1) // 2, 1))
            bounds, chosen = _native.top_terms(part.offsets, part.terms, part_scores, limits, thread_count(None))
            offsets.append(bounds[1:] + offsets[-1][-1])
            terms.append(part.terms[chosen])
            scores.append(part_scores[chosen])
        return Selection(
            np.concatenate(offsets),
            np.concatenate(terms) if terms else np.zeros(0, np.uint32),
            np.concatenate(scores) if scores else np.zeros(0, np.float32),
        )

    def query_terms(self, texts: Sequence[str | None], n_terms: int, *, threads: int | None = 1) -> tuple[U64, U32]:
        """Return the terms each query opens, as (offsets, terms): at most ``n_terms``, those with the highest means."""
        tokens, bounds = self.tokenizer.encode([text or "" for text in texts], threads=threads)
        return _native.query_terms(tokens, bounds, self.tokenizer.dropped, self.mean_scores, n_terms)


def fit_terms(
    spec: BM25 | TermWeights | LearnedTerms, bags: Bags, tokenizer: Analyzer, gains: Floats | None = None
) -> TermSelector:
    """Return the selector fitted to these documents; scores are multiplied by ``gains`` if given."""
    df = np.bincount(bags.terms, minlength=tokenizer.n_terms).astype(np.uint32)
    length = float(bags.lengths.mean()) if len(bags) else 0.0
    no_means = np.zeros(tokenizer.n_terms, np.float32)
    selector = TermSelector(spec, tokenizer, df, len(bags), length, no_means, gains)
    return replace(selector, mean_scores=_mean_scores(selector, bags))


def _mean_scores(selector: TermSelector, bags: Bags) -> Floats:
    """Return s̄_v, the mean score of each term over the documents that contain it."""
    sums = np.zeros(selector.n_terms, np.float64)
    for begin in range(0, len(bags), _ROWS_AT_A_TIME):
        part = bags.part(begin, min(begin + _ROWS_AT_A_TIME, len(bags)))
        sums += np.bincount(part.terms, weights=selector.scores(part), minlength=selector.n_terms)
    return (sums / np.maximum(selector.df, 1)).astype(np.float32)
