"""Documents as bags of terms, with counts or with weights the caller gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import thread_count
from hi2.data.given_array import entries, given_array
from hi2.data.ragged import take_rows
from hi2.data.spool import Spool
from hi2.errors import described, invalid
from hi2.text.tokenizer import Analyzer
from hi2.types import I64, U32, U64, Array, Floats

#: Weights are stored as float32, and their sums over documents must stay finite.
LARGEST_WEIGHT = 1e30


@dataclass(frozen=True)
class Bags:
    """Rows of (term, value) pairs: row i is [offsets[i], offsets[i+1]). Values are counts or weights."""

    offsets: U64
    terms: U32
    values: Array
    lengths: U32

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, begin: int, end: int) -> Bags:
        """Return rows [begin, end), with offsets that start at 0."""
        first, last = int(self.offsets[begin]), int(self.offsets[end])
        return Bags(
            self.offsets[begin : end + 1] - self.offsets[begin],
            np.ascontiguousarray(self.terms[first:last]),
            np.ascontiguousarray(self.values[first:last]),
            self.lengths[begin:end],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Bags]) -> Bags:
        """Return the rows of all parts one after another."""
        bases = np.cumsum([0] + [len(part.terms) for part in parts], dtype=np.uint64)
        offsets = [np.zeros(1, np.uint64)] + [part.offsets[1:] + base for part, base in zip(parts, bases, strict=False)]
        arrays = [np.concatenate([getattr(part, name) for part in parts]) for name in ("terms", "values", "lengths")]
        return cls(np.concatenate(offsets), *arrays)

    def below(self, n_terms: int) -> Bags:
        """Return the rows without terms that are not below ``n_terms``; lengths stay."""
        keep = self.terms < n_terms
        if keep.all():
            return self
        offsets = np.append(np.uint64(0), np.cumsum(keep, dtype=np.uint64))[self.offsets.astype(np.int64)]
        return Bags(offsets, self.terms[keep], self.values[keep], self.lengths)

    def take(self, rows: I64) -> Bags:
        """Return some rows, in the order they are given."""
        offsets, terms = take_rows(self.offsets, self.terms, rows)
        return Bags(offsets, terms, take_rows(self.offsets, self.values, rows)[1], self.lengths[rows])


class BagCollector:
    """Collect bags batch by batch, on disk rather than in memory."""

    def __init__(self, dtype: type[np.generic] = np.uint32) -> None:
        self._offsets: list[U64] = [np.zeros(1, np.uint64)]
        self._lengths: list[U32] = []
        self._terms = Spool(np.uint32)
        self._values = Spool(dtype)
        self._total = 0

    def add(self, bags: Bags) -> None:
        """Append the rows of ``bags``."""
        self._offsets.append(bags.offsets[1:] + np.uint64(self._total))
        self._total += len(bags.terms)
        self._lengths.append(bags.lengths)
        self._terms.append(bags.terms)
        self._values.append(bags.values)

    def finish(self) -> Bags:
        """Return everything collected."""
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.uint32)
        return Bags(np.concatenate(self._offsets), self._terms.finish(), self._values.finish(), lengths)


def count(tokenizer: Analyzer, texts: Sequence[str], *, max_tokens: int | None = None) -> Bags:
    """Return the term counts of documents; ``lengths`` are numbers of tokens that are terms, repeats included.

    A tokenizer with a dictionary learns the words of the documents.
    """
    return count_tokens(tokenizer, *tokenizer.encode(texts, max_tokens=max_tokens, learn=True))


def count_tokens(tokenizer: Analyzer, tokens: U32, offsets: U64) -> Bags:
    """Return the term counts of texts that are already tokenized."""
    return Bags(*_native.count_terms(tokens, offsets, tokenizer.dropped, thread_count(None)))


def weigh(tokenizer: Analyzer, rows: Any) -> Bags:
    """Return bags of the caller's weights: a SciPy-like CSR matrix, or one mapping of term to weight per document.

    A term is a string or a number of the tokenizer's vocabulary. A string that is not in the vocabulary is tokenized,
    and each of its tokens gets the weight, so keyword lists work with any tokenizer; one with a dictionary learns them.
    If a term gets several weights, the largest counts.
    """
    if getattr(rows, "format", "csr") != "csr" and callable(getattr(rows, "tocsr", None)):
        rows = rows.tocsr()  # another of SciPy's formats; some have arrays of the same names
    if hasattr(rows, "indptr") and hasattr(rows, "indices") and hasattr(rows, "data"):
        return _from_csr(tokenizer, rows)
    must = "a CSR matrix or one mapping per document"
    if isinstance(rows, Mapping):
        raise invalid("term_weights", must, "a single mapping")
    offsets = [0]
    terms: list[int] = []
    weights: list[float] = []
    for row, mapping in enumerate(entries(rows, name="term_weights", must=must)):
        if not isinstance(mapping, Mapping):
            raise invalid("term_weights", must, f"{described(mapping)} in row {row}")
        best: dict[int, float] = {}
        for term, weight in mapping.items():
            for number in _term_numbers(tokenizer, term, row):
                best[number] = max(best.get(number, 0.0), _weight(weight, row))
        kept = sorted(number for number in best if best[number] > 0 and not tokenizer.dropped[number])
        terms.extend(kept)
        weights.extend(best[number] for number in kept)
        offsets.append(len(terms))
    bounds = np.array(offsets, np.uint64)
    return Bags(bounds, np.array(terms, np.uint32), np.array(weights, np.float32), np.diff(bounds).astype(np.uint32))


def _term_numbers(tokenizer: Analyzer, term: object, row: int) -> Iterable[int]:
    if isinstance(term, str):
        if not _is_unicode(term):
            raise invalid("term_weights", "keyed by valid Unicode", f"{described(term)} in row {row}")
        number = tokenizer.number(term)
        return [number] if number is not None else [int(t) for t in tokenizer.encode([term], learn=True)[0]]
    if isinstance(term, (int, np.integer)) and 0 <= term < tokenizer.n_terms:
        return [int(term)]
    must = f"keyed by strings or numbers below {tokenizer.n_terms}"
    raise invalid("term_weights", must, f"{described(term)} in row {row}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _weight(weight: object, row: int) -> float:
    try:
        value = float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not abs(value) <= LARGEST_WEIGHT:
        raise invalid("term_weights", f"finite numbers up to {LARGEST_WEIGHT:.0e}", f"{described(weight)} in row {row}")
    return value


def _from_csr(tokenizer: Analyzer, matrix: Any) -> Bags:
    offsets, terms = (_csr_integers(getattr(matrix, name), name) for name in ("indptr", "indices"))
    weights = _csr_array(matrix.data, "data", "biuf")
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(terms) or (offsets[1:] < offsets[:-1]).any():
        raise invalid("term_weights", "a CSR matrix with rising row pointers", "other row pointers")
    if len(weights) != len(terms):
        raise invalid("term_weights", "a CSR matrix with one weight an index", f"{len(weights)} for {len(terms)}")
    if len(terms) and not 0 <= terms.min() <= terms.max() < tokenizer.n_terms:
        column = terms.min() if terms.min() < 0 else terms.max()
        raise invalid("term_weights", f"a matrix of {tokenizer.n_terms} columns", f"a column {column}")
    if not (np.abs(weights.astype(np.float64)) <= LARGEST_WEIGHT).all():
        raise invalid("term_weights", f"finite numbers up to {LARGEST_WEIGHT:.0e}", "NaN or larger ones")
    weights = weights.astype(np.float32)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    keep = (weights > 0) & (tokenizer.dropped[terms] == 0)
    rows, terms, weights = rows[keep], terms[keep], weights[keep]
    bounds, terms, weights = _max_per_row_and_term(rows, terms, weights, len(offsets) - 1)
    return Bags(bounds, terms, weights, np.diff(bounds).astype(np.uint32))


def _csr_array(values: Any, name: str, kinds: str) -> Array:
    """One of the arrays of a CSR matrix, which must be of these kinds."""
    array = given_array(values, name="term_weights")
    if array.ndim != 1 or (array.dtype.kind not in kinds and array.size):
        must = f"a CSR matrix whose {name} is a row of {'numbers' if 'f' in kinds else 'integers'}"
        raise invalid("term_weights", must, f"shape {array.shape} of {array.dtype}")
    return array


def _csr_integers(values: Any, name: str) -> Array:
    array = _csr_array(values, name, "iu")
    if array.dtype.kind == "u" and array.size and array.max() >= 2**63:
        raise invalid("term_weights", f"a CSR matrix whose {name} is below 2^63", array.max())
    return array.astype(np.int64)


def max_score_per_term(tokens: Array, counts: Array, scores: Floats, dropped: Array) -> Bags:
    """Return the highest score of each term of each text; terms without a positive score are left out.

    ``tokens`` and ``scores`` are those of all texts in order; ``counts`` are the numbers of tokens per text.
    """
    rows = np.repeat(np.arange(len(counts)), counts)
    keep = (scores > 0) & (dropped[tokens] == 0)
    lengths = np.bincount(rows[dropped[tokens] == 0], minlength=len(counts)).astype(np.uint32)
    offsets, terms, values = _max_per_row_and_term(rows[keep], tokens[keep], scores[keep], len(counts))
    return Bags(offsets, terms, values, lengths)


def _max_per_row_and_term(rows: Array, terms: Array, values: Floats, n_rows: int) -> tuple[U64, U32, Floats]:
    """Return (offsets, terms, values) of the rows: terms ascending, each with its largest value."""
    order = np.lexsort((-values, terms, rows))
    rows, terms, values = rows[order], terms[order], values[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (terms[1:] != terms[:-1])
    offsets = np.zeros(n_rows + 1, np.uint64)
    np.cumsum(np.bincount(rows[first], minlength=n_rows), out=offsets[1:])
    return offsets, terms[first].astype(np.uint32), values[first].astype(np.float32)
