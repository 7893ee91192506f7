"""What are a query's words worth in a document? The statistics of BM25, and the scale that puts it beside dense scores.

The score of a search that ranks by both is

    dense + lexical · spread · ‖query‖ · doubt · specificity · BM25(query, document)

``spread`` is the standard deviation of dense scores over the documents, for queries of length one. So a weight means
the same whatever the length of the vectors, and the score of a document depends on nothing but query, model and
document.

``doubt`` is 1 for a query that is near some documents, and up to 8 for one that is far from all, such as a question for
a part number, of which vectors know nothing: max(1, 4 / z)^1.5, where z ≥ 1 is how many ``cosine_spread`` the cosine of
the query and the anchor of its nearest cluster is above that of the query and the middle of the documents.

``specificity`` is small for a query of common words, which embeddings know already: m / s · 5 / s, where m is the mean
idf of its words, each weighted by its idf, and s = min(5, 0.6 · ln(N + 1)): in a small collection the idf of all words
is small. It is twice that where a single document has one of the words, among 1,000 or more: such a word points at its
document. Words that no document had at the fit are left out, so that scores do not change with the documents that are
added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hi2 import _native
from hi2.data.lazy import lazy
from hi2.text.bags import Bags
from hi2.types import U32, Array, Floats

#: Given weights are stored as whole units, of which a large weight has this many. One weight in twenty is larger.
_UNITS_PER_LARGE, _LARGE = 12, 95
#: Terms are noted that at most one document in this many has, and admit documents if one in ``RARE_SHARE`` has them;
#: those that at most ``MIN_RARE`` documents have always do.
NOTED_SHARE, RARE_SHARE, MIN_RARE = 32, 400, 8
#: Bags hold counts up to this.
MAX_COUNT = 2**31 - 1
#: Fewer documents say nothing of how dense scores are spread. A tenth of their length is what large collections have.
_FEWEST_DOCUMENTS, _USUAL_SPREAD = 32, 0.1
#: Documents that stand in for queries, and documents they are compared with, where the spread is estimated.
SPREAD_QUERIES, SPREAD_DOCUMENTS = 256, 2048


@dataclass(frozen=True)
class Evidence:
    """Statistics of the documents an index was fitted to. Bags of terms are stored under them.

    ``unit`` is 0 where terms are counted. Otherwise documents were given weights, which bags hold in whole units.
    """

    NUMBERS: ClassVar[tuple[str, ...]] = (
        "average_length",
        "alpha",
        "beta",
        "spread",
        "unit",
        "cosine_spread",
    )

    COUNTS: ClassVar[tuple[str, ...]] = ("n_docs", "noted", "rare")

    df: U32
    n_docs: int
    average_length: float
    alpha: float
    beta: float
    spread: float
    unit: float = 0.0
    #: The mean document over the mean length of documents, and how much cosines of documents vary.
    center: Floats | None = None
    cosine_spread: float = 0.0
    #: A document is noted under its terms that at most ``noted`` documents have, beside those it is filed under. Notes
    #: of terms that at most ``rare`` have make it a candidate; the others say whether its bag is worth reading.
    noted: int = 0
    rare: int = 0
    #: The mean weight of each term; None where terms are counted.
    mean_weights: Floats | None = None

    @lazy
    def native(self) -> _native.Evidence:
        """The statistics as the search reads them."""
        means = np.zeros(0, np.float32) if self.mean_weights is None else self.mean_weights
        numbers = self.average_length, self.alpha, self.beta, self.unit
        return _native.Evidence(
            self.df, means, self.n_docs, *numbers, self.noted, self.rare, self.center, self.cosine_spread
        )

    def beside(self, dense: DenseScale) -> Evidence:
        """Return the same beside dense scores of this scale."""
        return replace(self, spread=dense.spread, cosine_spread=dense.cosine_spread, center=dense.center)

    @property
    def dense(self) -> DenseScale:
        """The scale of dense scores."""
        center = np.zeros(0, np.float32) if self.center is None else self.center
        return DenseScale(self.spread, self.cosine_spread, center)

    def with_notes(self) -> Evidence:
        """Return the same with notes of terms that are rare enough in this collection."""
        return replace(
            self, noted=max(self.n_docs // NOTED_SHARE, MIN_RARE), rare=max(self.n_docs // RARE_SHARE, MIN_RARE)
        )

    def counts(self, bags: Bags) -> Bags:
        """Return bags as they are stored: counts, or weights in whole units, at least one."""
        if self.unit == 0:
            return bags
        units = np.clip(np.rint(bags.values.astype(np.float64) / self.unit), 1, MAX_COUNT).astype(np.uint32)
        return Bags(bags.offsets, bags.terms, units, bags.lengths)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON data."""
        return {
            **{name: getattr(self, name) for name in self.COUNTS},
            **{name: getattr(self, name) for name in self.NUMBERS},
        }


@dataclass(frozen=True)
class DenseScale:
    """How dense scores are distributed: what puts words beside them."""

    spread: float
    cosine_spread: float
    center: Floats

    @property
    def mean(self) -> Floats | None:
        """The mean document; None where it is not known."""
        if len(self.center) == 0 or not self.cosine_spread > 0:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # the numbers of a damaged index
            mean: Floats = self.center * np.float32(self.spread / self.cosine_spread)
        return mean

    @classmethod
    def unknown(cls, dim: int) -> DenseScale:
        """Return what is assumed before there is a vector."""
        return cls(_USUAL_SPREAD, _USUAL_SPREAD, np.zeros(dim, np.float32))

    @classmethod
    def of(cls, queries: Floats, documents: Floats) -> DenseScale:
        """Return the scale of these documents; some of them stand in for queries."""
        if len(documents) == 0:
            return cls.unknown(documents.shape[1])
        lengths = np.linalg.norm(queries, axis=1)
        scores: Array = queries[lengths > 0] @ documents.T
        spread = float((scores.std(axis=1, dtype=np.float64) / lengths[lengths > 0]).mean()) if scores.size else 0.0
        length = float(np.linalg.norm(documents, axis=1).mean(dtype=np.float64))
        if len(documents) < _FEWEST_DOCUMENTS:
            spread = _USUAL_SPREAD * length
        center = documents.mean(axis=0, dtype=np.float64) / max(length, 1e-30)
        return cls(spread, spread / length if length else 0.0, center.astype(np.float32))


def count_evidence(bags: Bags, n_terms: int, *, alpha: float, beta: float, dense: DenseScale) -> Evidence:
    """Return the statistics of documents whose terms are counted."""
    df = np.bincount(bags.terms, minlength=n_terms)[:n_terms].astype(np.uint32)  # words that follow are new ones
    length = float(bags.lengths.mean()) if len(bags) else 0.0
    return Evidence(df, len(bags), length, alpha, beta, dense.spread).beside(dense)


def weight_evidence(bags: Bags, n_terms: int, mean_weights: Floats, *, dense: DenseScale) -> Evidence:
    """Return the statistics of documents that were given weights."""
    df = np.bincount(bags.terms, minlength=n_terms)[:n_terms].astype(np.uint32)  # words that follow are new ones
    large = float(np.percentile(bags.values, _LARGE)) if len(bags.values) else 0.0
    unit = max(large / _UNITS_PER_LARGE, float(np.finfo(np.float32).tiny))
    return Evidence(df, len(bags), 0.0, 0.0, 0.0, dense.spread, unit, mean_weights=mean_weights).beside(dense)
