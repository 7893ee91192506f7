"""How good is a ranking? Measures named as in ir-measures: RR@10, R@100, nDCG@10, Success@5."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.errors import invalid


@dataclass(frozen=True)
class Measure:
    """A measure of one ranking, up to rank ``k``.

    >>> Measure("R", 2)([1, 0, 1], [1, 1, 1])
    0.3333333333333333
    """

    kind: str
    k: int

    @classmethod
    def named(cls, name: str) -> Measure:
        """Return the measure with this name."""
        match = re.fullmatch(r"(RR|R|nDCG|Success)@([1-9][0-9]*)", name)
        if match is None:
            raise invalid("measures", "RR@k, R@k, nDCG@k or Success@k", repr(name))
        return cls(match[1], int(match[2]))

    def __str__(self) -> str:
        return f"{self.kind}@{self.k}"

    def __call__(self, gains: Sequence[int], ideal: Sequence[int]) -> float:
        """Return the value of a ranking.

        ``gains`` are the grades of the ranked documents, ``ideal`` those of all relevant documents, best first.
        """
        top = gains[: self.k]
        if self.kind == "RR":
            return next((1 / rank for rank, gain in enumerate(top, 1) if gain > 0), 0.0)
        if self.kind == "R":
            return sum(gain > 0 for gain in top) / len(ideal) if ideal else 0.0
        if self.kind == "Success":
            return float(any(gain > 0 for gain in top))
        best = _discounted(ideal[: self.k])
        return _discounted(top) / best if best else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return float(np.sum(np.asarray(gains, float) / np.log2(np.arange(2, len(gains) + 2))))


def recall(found: Sequence[Any], relevant: Collection[Any], *, k: int) -> float:
    """Return the share of the relevant documents that are among the first ``k`` found.

    >>> recall(["a", "b", "c"], {"a", "c", "d"}, k=2)
    0.3333333333333333
    """
    return len(set(found[:k]) & set(relevant)) / len(relevant) if relevant else 0.0


def mean_recall(found: Sequence[Sequence[Any]], relevant: Sequence[Collection[Any]], *, k: int) -> float:
    """Return the mean recall over the queries that have relevant documents."""
    values = [recall(row, wanted, k=k) for row, wanted in zip(found, relevant, strict=True) if wanted]
    return float(np.mean(values)) if values else 0.0


def agreement(found: Sequence[Sequence[Any]], exact: Sequence[Sequence[Any]], *, k: int) -> float:
    """Return the mean share of the exact top ``k`` that is among the first ``k`` found."""
    return mean_recall(found, [row[:k] for row in exact], k=k)
