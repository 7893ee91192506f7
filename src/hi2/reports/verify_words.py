"""Do the words of an index fit it? Its dictionary, the statistics of its terms, and the bag of every document."""

from __future__ import annotations

import numpy as np

from hi2 import _native
from hi2.errors import FormatError
from hi2.selectors.evidence import Evidence
from hi2.selectors.terms import LearnedTerms
from hi2.state.model import Model
from hi2.state.segment import Segment, width
from hi2.text.bags import Bags
from hi2.text.dictionary import Dictionary
from hi2.types import U32, Array

_DOCS_PER_BLOCK = 8192
#: The part of a pair of document and rank that is the rank.
_RANK = np.uint64(2**32 - 1)


def verify_statistics(model: Model) -> None:
    """Raise FormatError unless the tokenizer can be read and no term is in more documents than there were."""
    terms = model.terms
    if terms is None:
        return
    terms.tokenizer.name(0)  # parses a stored tokenizer
    dictionary: Dictionary | None = getattr(terms.tokenizer, "dictionary", None)
    if dictionary is not None:
        dictionary.check()
    for name, part in (("term_df.npy", terms), ("evidence_df.npy", terms.evidence)):
        if part is not None and len(part.df) and part.df.max() > part.n_docs:
            raise FormatError(f"The index is damaged: {name} has {part.df.max()} documents of {part.n_docs}.")


def verify_bags(model: Model, segment: Segment, number: int) -> None:
    """Raise FormatError unless every document's bag is one that is written, and its lists and notes fit it.

    A bag has all terms that its document is filed or noted under. All its terms that are noted are among them, and all
    its terms where the document has no vector.
    """
    if model.terms is None:
        return
    n_words = model.terms.tokenizer.n_terms
    if not model.n_terms <= segment.n_terms <= n_words:
        raise _damage(number, f"it has {segment.n_terms} terms, of {model.n_terms} at the fit and {n_words} now")
    evidence = model.evidence
    if evidence is None:
        return
    _verify_offsets(segment, number)
    filed, notes = (
        _pairs(lists, evidence) for lists in (segment.native.term_postings(), segment.native.note_postings())
    )
    if isinstance(model.terms.spec, LearnedTerms):  # it may file a document under terms that are not in its text
        filed = filed[:0]
    listed = np.concatenate([filed, notes])
    listed.sort()
    if np.any(listed[1:] == listed[:-1]):
        raise _damage(number, "a document is filed and noted under the same term")
    # Terms by falling df: those from this rank on are noted.
    noted = np.uint64(np.count_nonzero(evidence.df > evidence.noted) if evidence.noted else 2**32)
    first_without = np.uint64(segment.n_vectors) << np.uint64(32)
    if np.any(notes[notes < first_without] & _RANK < noted):
        raise _damage(number, "a document is noted under a term that is not rare")
    if isinstance(model.terms.spec, LearnedTerms):
        first_without = np.uint64(2**63)  # their other words are filed, which is not checked
    for begin in range(0, segment.n_docs, _DOCS_PER_BLOCK):
        own = np.arange(begin, min(begin + _DOCS_PER_BLOCK, segment.n_docs), dtype=np.uint32)
        bags = Bags(*segment.native.bags(own))
        sizes = np.diff(bags.offsets).astype(np.int64)
        totals = sizes if evidence.unit > 0 else _sums(bags)
        if not np.array_equal(bags.lengths, totals):
            raise _damage(number, "the length of a document is not that of its bag")
        held = np.repeat(own, sizes).astype(np.uint64) << np.uint64(32) | bags.terms
        first, last = np.searchsorted(listed, np.array([begin, begin + len(own)], np.uint64) << np.uint64(32))
        if not np.isin(listed[first:last], held, assume_unique=True).all():
            raise _damage(number, "a document is filed under a term that its bag does not have")
        led = (held & _RANK >= noted) | (held >= first_without)
        if not np.isin(held[led], listed[first:last], assume_unique=True).all():
            raise _damage(number, "a document is not noted under a rare term that its bag has")


def _verify_offsets(segment: Segment, number: int) -> None:
    """Bags follow each other without gaps from the first byte to the last; decoding them finds the rest."""
    blob, bits = segment.arrays["bags.npy"], width(len(segment.arrays["bags.npy"]) - _native.PADDING)
    offsets = _native.unpack(segment.arrays["bag_offsets.npy"], bits, segment.n_docs + 1)
    end = len(blob) - _native.PADDING
    if offsets[0] != 0 or offsets[-1] != end or np.any(offsets[1:] < offsets[:-1]):
        raise _damage(number, "its bag_offsets.npy are not the bounds of its bags")
    if blob[end:].any() or not np.array_equal(_native.pack(offsets, bits), segment.arrays["bag_offsets.npy"]):
        raise _damage(number, "zeros do not follow its bags or their offsets")


def _pairs(lists: tuple[U32, U32, U32], evidence: Evidence) -> Array:
    """The documents of lists and the ranks of their terms, each pair as one integer."""
    keys, docs, _ = lists
    return docs.astype(np.uint64) << np.uint64(32) | evidence.native.ranks(keys)


def _sums(bags: Bags) -> Array:
    """The sum of every bag's counts."""
    totals = np.zeros(len(bags.values) + 1, np.uint64)
    np.cumsum(bags.values, dtype=np.uint64, out=totals[1:])
    return np.diff(totals[bags.offsets.astype(np.int64)])


def _damage(number: int, what: str) -> FormatError:
    return FormatError(f"Segment {number} is damaged: {what}.")
