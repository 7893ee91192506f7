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
from hi2.selectors.evidence import DenseScale, Evidence, count_evidence, weight_evidence
from hi2.selectors.learned import TermScorer
from hi2.text.bags import Bags, count, weigh
from hi2.text.tokenizer import Analyzer
from hi2.types import U32, U64, Array, Floats

#: A query longer than this opens only its best terms (K₂ᵀ of the paper).
DEFAULT_QUERY_TERMS = 32
MAX_PER_DOC = 256
LARGEST_ALPHA = 100.0
_ROWS_AT_A_TIME = 16_384


@dataclass(frozen=True)
class BM25:
    """File a document under its ``per_doc`` best terms by BM25 (eq. 7 of the paper).

    ``tokenizer`` is a Snowball algorithm such as 'english' or 'german' (stemmed words), 'words' (words of any
    language), 'wordpiece' (BERT's WordPiece, as in the paper), a ``tokenizer.json`` or its folder, a hub name, a
    ``WordTokenizer`` or a ``tokenizers.Tokenizer``. ``max_tokens`` truncates documents.
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
    tokenizer: Any = "english"

    def __post_init__(self) -> None:
        normalise_integers(self, per_doc=(1, MAX_PER_DOC), max_tokens=(1, 2**63 - 1))
        object.__setattr__(self, "alpha", real("alpha", self.alpha, low=0.0, high=LARGEST_ALPHA))
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
    tokenizer: Any = "wordpiece"

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
    tokenizer: Any = "wordpiece"
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
    #: What words are worth in a document; None where documents have no bags.
    evidence: Evidence | None = None

    @property
    def n_terms(self) -> int:
        """How many terms have statistics. Words that documents added later have higher numbers."""
        return len(self.df)

    def apart(self) -> TermSelector:
        """Return the same selector with a dictionary of its own, if it has one: what it learns stays with it."""
        tokenizer: Any = self.tokenizer
        return self if getattr(tokenizer, "dictionary", None) is None else replace(self, tokenizer=tokenizer.copy())

    @lazy
    def idf(self) -> Array:
        """ln(1 + (N - df + 0.5) / (df + 0.5)) of every term."""
        df = self.df.astype(np.float64)
        return np.log1p((self.n_docs - df + 0.5) / (df + 0.5))

    @property
    def idf_of_new(self) -> float:
        """The idf of a word that no fitted document has: documents added later brought it."""
        return float(np.log1p((self.n_docs + 0.5) / 0.5))

    def scores(self, bags: Bags) -> Floats:
        """Return the score of every (document, term) pair of ``bags`` (s_v)."""
        plain = self._plain_scores(bags)
        return plain if self.gains is None else plain * _of_terms(self.gains, bags.terms, 1.0)

    def _plain_scores(self, bags: Bags) -> Floats:
        if not isinstance(self.spec, BM25):
            return np.asarray(bags.values, np.float32)
        alpha, beta = self.spec.alpha, self.spec.beta
        tf = bags.values.astype(np.float64)
        relative = bags.lengths / max(self.average_length, 1e-9)
        norm = np.repeat(alpha * (1 - beta + beta * relative), np.diff(bags.offsets).astype(np.int64))
        idf = _of_terms(self.idf, bags.terms, self.idf_of_new)
        return ((alpha + 1) * idf * tf / (tf + norm)).astype(np.float32)

    def select(self, bags: Bags) -> Selection:
        """Return the terms every document is filed under."""
        offsets, terms, scores = [np.zeros(1, np.uint64)], [], []
        for begin in range(0, len(bags), _ROWS_AT_A_TIME):
            part = bags.part(begin, min(begin + _ROWS_AT_A_TIME, len(bags)))
            part_scores = self.scores(part)
            limits = self._limits(np.diff(part.offsets).astype(np.uint32))
            bounds, chosen = _native.top_terms(part.offsets, part.terms, part_scores, limits, thread_count(None))
            offsets.append(bounds[1:] + offsets[-1][-1])
            terms.append(part.terms[chosen])
            scores.append(part_scores[chosen])
        return Selection(
            np.concatenate(offsets),
            np.concatenate(terms) if terms else np.zeros(0, np.uint32),
            np.concatenate(scores) if scores else np.zeros(0, np.float32),
        )

    def notes(self, bags: Bags) -> tuple[U32, U32]:
        """Return the notes of every document, as rows and terms: rare enough terms that it is not filed under."""
        if not isinstance(self.spec, BM25) or self.evidence is None:
            return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
        rows, terms = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
        for begin in range(0, len(bags), _ROWS_AT_A_TIME):
            part = bags.part(begin, min(begin + _ROWS_AT_A_TIME, len(bags)))
            noted = (
                _of_terms(self.evidence.df, part.terms, 0) <= self.evidence.noted
            )  # words that were added later are rare
            limits = self._limits(np.diff(part.offsets).astype(np.uint32))
            filed = _native.top_terms(part.offsets, part.terms, self.scores(part), limits, thread_count(None))[1]
            noted[filed] = False
            places = np.flatnonzero(noted)
            own = np.searchsorted(part.offsets, places.astype(np.uint64), side="right") - 1
            rows.append(own.astype(np.uint32) + np.uint32(begin))
            terms.append(part.terms[places])
        return np.concatenate(rows), np.concatenate(terms)

    def _limits(self, distinct: U32) -> U32:
        """How many terms documents with this many distinct ones are filed under at most."""
        limits = np.full(len(distinct), self.spec.per_doc, np.uint32)
        return np.minimum(limits, np.maximum((distinct + 1) // 2, 1)) if isinstance(self.spec, BM25) else limits

    def query_terms(
        self, texts: Sequence[str | None], n_terms: int, *, threads: int | None = 1
    ) -> tuple[U64, U32, U64, U32]:
        """Return the terms each query opens, and all its distinct terms, as (offsets, terms, offsets, words).

        A query opens at most ``n_terms``, those with the highest means.
        """
        tokens, bounds = self.tokenizer.encode([text or "" for text in texts], threads=threads)
        return _native.query_terms(tokens, bounds, self.tokenizer.dropped, self.mean_scores, n_terms)


def _of_terms(values: Array, terms: U32, missing: float) -> Array:
    """Return the value of each term; ``missing`` for words that were added after the fit."""
    if not len(terms) or int(terms.max()) < len(values):
        return values[terms]
    known = terms < len(values)
    found = np.full(len(terms), missing, values.dtype)
    found[known] = values[terms[known]]
    return found


def fit_terms(
    spec: BM25 | TermWeights | LearnedTerms, bags: Bags, tokenizer: Analyzer, gains: Floats | None = None
) -> TermSelector:
    """Return the selector fitted to these documents; scores are multiplied by ``gains`` if given."""
    df = np.bincount(bags.terms, minlength=tokenizer.n_terms).astype(np.uint32)
    length = float(bags.lengths.mean()) if len(bags) else 0.0
    no_means = np.zeros(tokenizer.n_terms, np.float32)
    selector = TermSelector(spec, tokenizer, df, len(bags), length, no_means, gains)
    return replace(selector, mean_scores=_mean_scores(selector, bags))


def fit_evidence(selector: TermSelector, words: Bags, dense: DenseScale) -> Evidence:
    """Return what words are worth in these documents; ``words`` are their terms, counted or weighed."""
    spec = selector.spec
    if isinstance(spec, TermWeights):
        return weight_evidence(words, selector.n_terms, selector.mean_scores, dense=dense)
    counted = spec if isinstance(spec, BM25) else BM25()
    evidence = count_evidence(words, selector.n_terms, alpha=counted.alpha, beta=counted.beta, dense=dense)
    if isinstance(spec, BM25) and spec.gamma is None:  # lists that were pruned do not hold all documents of a term
        evidence = evidence.with_notes()
    same = evidence.n_docs == selector.n_docs and np.array_equal(evidence.df, selector.df)
    return replace(evidence, df=selector.df) if same else evidence  # one array where both are of the same texts


def _mean_scores(selector: TermSelector, bags: Bags) -> Floats:
    """Return s̄_v, the mean score of each term over the documents that contain it."""
    sums = np.zeros(selector.n_terms, np.float64)
    for begin in range(0, len(bags), _ROWS_AT_A_TIME):
        part = bags.part(begin, min(begin + _ROWS_AT_A_TIME, len(bags)))
        sums += np.bincount(part.terms, weights=selector.scores(part), minlength=selector.n_terms)
    return (sums / np.maximum(selector.df, 1)).astype(np.float32)
