"""How far has the collection moved since the parts were fitted? Term statistics of what was added later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.state.model import Model
from hi2.text.bags import Bags
from hi2.types import U32


@dataclass(frozen=True)
class Added:
    """Counts of what was added after the fit: documents, tokens, documents per term. Deletions change nothing."""

    n_docs: int = 0
    n_tokens: int = 0
    df: U32 | None = None

    def __post_init__(self) -> None:
        if self.n_docs < 0 or self.n_tokens < 0:
            raise ValueError(f"{self.n_docs} documents of {self.n_tokens} tokens were added")

    def plus(self, n_docs: int, bags: Bags | None, n_terms: int) -> Added:
        """Return the counts with further documents."""
        if bags is None:
            return Added(self.n_docs + n_docs, self.n_tokens, self.df)
        n_seen = n_terms if self.df is None else len(self.df)
        total = np.bincount(bags.terms, minlength=n_seen).astype(np.uint32)  # longer where there are new words
        if self.df is not None:
            total[:n_seen] += self.df
        return Added(self.n_docs + n_docs, self.n_tokens + int(bags.lengths.sum()), total)

    def report(self, model: Model) -> dict[str, Any]:
        """Return how the added documents differ from the fitted ones.

        ``df`` is half the total variation between the two distributions of document frequency: 0 for the same mix of
        terms, 1 for no term in common. ``average_length`` is the ratio of the average lengths.
        """
        report: dict[str, Any] = {"added": self.n_docs}
        terms = model.terms
        if terms is None or self.df is None or self.n_docs == 0:
            return report
        known = np.zeros(len(self.df), np.uint32)
        known[: len(terms.df)] = terms.df
        fitted, added = known / max(int(known.sum()), 1), self.df / max(int(self.df.sum()), 1)
        report["df"] = float(np.abs(fitted - added).sum() / 2)
        report["unseen_terms"] = int(((known == 0) & (self.df > 0)).sum())
        if terms.average_length > 0:
            report["average_length"] = self.n_tokens / self.n_docs / terms.average_length
        return report
