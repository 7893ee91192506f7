"""Which documents does a filter admit? One bit per document, which takes the place of the alive bit.

An expression is evaluated once per segment and cached with it, so a change keeps the result for every segment it does
not touch. A mask or a list of ids is turned into bits by every search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.data.distinct import distinct
from hi2.data.given_array import given_array
from hi2.data.lazy import lazy
from hi2.errors import invalid
from hi2.filters.expression import Expression, check_columns
from hi2.filters.parser import parse
from hi2.state.segment import alive_bits, alive_flags
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.types import U32, Array, Bytes

#: How many bits of every byte value are set.
_BITS_SET = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)


@dataclass(frozen=True)
class SegmentMatches:
    """The living documents of one segment that pass.

    ``LiveSegment`` caches it; a reference back to the segment would be a cycle that keeps its maps open.
    """

    n_docs: int
    bits: Bytes
    #: The documents that pass, rising, if they are known; otherwise they are read from the bits.
    given: U32 | None = None

    @lazy
    def n(self) -> int:
        """How many documents pass."""
        return len(self.given) if self.given is not None else int(_BITS_SET[self.bits].sum())

    @lazy
    def docs(self) -> U32:
        """The documents that pass, rising."""
        if self.given is not None:
            return self.given
        return np.flatnonzero(alive_flags(self.bits, self.n_docs)).astype(np.uint32)

    def has(self, doc: int) -> bool:
        """Return whether a document passes."""
        return bool(self.bits[doc >> 3] >> (doc & 7) & 1)


@dataclass(frozen=True)
class Matches:
    """The documents of a snapshot that pass a filter, segment by segment."""

    snapshot: Snapshot
    parts: tuple[SegmentMatches, ...]

    @lazy
    def n(self) -> int:
        """How many documents pass."""
        return sum(part.n for part in self.parts)

    def also(self, other: Matches) -> Matches:
        """Return what passes both."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Matches(self.snapshot, tuple(SegmentMatches(a.n_docs, a.bits & b.bits) for a, b in pairs))

    def native(self, *, only: bool) -> list[Any]:
        """Return the segments for the native search; with ``only`` all documents that pass are the candidates."""
        pairs = zip(self.snapshot.segments, self.parts, strict=True)
        if only:
            return [(live.segment.native, part.bits, part.docs) for live, part in pairs]
        return [(live.segment.native, part.bits) for live, part in pairs]


@dataclass(frozen=True)
class FilterPerQuery:
    """One filter for every query of a batch; None where a query has none."""

    filters: Sequence[Any]


def per_query(filter: Any, filters: Any) -> Any:
    """Return the filter of a search: ``filter`` for all queries, or ``filters`` with one for each."""
    if filters is None:
        return filter
    if filter is not None:
        raise invalid("filters", "left out where filter is given", "both")
    if isinstance(filters, str) or not isinstance(filters, Sequence):
        raise invalid("filters", "a list with one filter per query", f"a {type(filters).__name__}")
    return FilterPerQuery(list(filters))


def group_by_filter(filters: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """Return the distinct filters of a batch with the rows that have each.

    Equal expressions are one filter, however they are given. A mask or a list is known by its identity.
    """
    parsed: dict[int, Any] = {}  # by identity, so that a long filter that all queries share is read once
    groups: dict[str | int, tuple[Any, list[int]]] = {}
    for row, given in enumerate(filters):
        if id(given) not in parsed:
            parsed[id(given)] = parse(given) if isinstance(given, str) else given
        own = parsed[id(given)]
        key = own.text if isinstance(own, Expression) else id(own)
        groups.setdefault(key, (own, []))[1].append(row)
    return list(groups.values())


def matching(snapshot: Snapshot, given: Any) -> Matches:
    """Return what passes a filter: an expression or its text, a boolean mask in the order of ``ids()``, or ids.

    What passes is also given as it is.
    """
    if isinstance(given, Matches):
        return given
    if isinstance(given, str):
        given = parse(given)
    if isinstance(given, Expression):
        return _evaluate(snapshot, given)
    values = given if isinstance(given, np.ndarray) else list(given) if isinstance(given, (list, tuple, set)) else None
    if values is None or (isinstance(values, np.ndarray) and values.ndim != 1):
        must = "an expression, its text, a boolean mask or a list of ids"
        raise invalid("filter", must, f"a {type(given).__name__}")
    if len(values) and isinstance(values[0], (bool, np.bool_)):
        return _from_mask(snapshot, given_array(values, name="filter"))
    docs: list[list[int]] = [[] for _ in snapshot.segments]
    for place in snapshot.find_checked(list(values), name="filter"):
        if place is not None:
            docs[place.segment].append(place.doc)
    return Matches(snapshot, tuple(_from_docs(live, own) for live, own in zip(snapshot.segments, docs, strict=True)))


def _from_docs(live: LiveSegment, docs: list[int]) -> SegmentMatches:
    """The documents of a segment that were listed by id."""
    own = distinct(np.asarray(docs, np.uint32))
    bits = np.zeros((live.segment.n_docs + 7) // 8, np.uint8)
    np.bitwise_or.at(bits, own >> 3, (1 << (own & 7)).astype(np.uint8))
    return SegmentMatches(live.segment.n_docs, bits, own)


def _evaluate(snapshot: Snapshot, expression: Expression) -> Matches:
    key = expression.text
    cached = [live.matches.get(key) for live in snapshot.segments]
    if None in cached:  # a column that only other segments have is known too
        check_columns(expression, [live.segment.columns for live in snapshot.segments])
    pairs = zip(snapshot.segments, cached, strict=True)
    return Matches(snapshot, tuple(own or _evaluate_segment(live, key, expression) for live, own in pairs))


def _evaluate_segment(live: LiveSegment, key: str, expression: Expression) -> SegmentMatches:
    segment = live.segment
    bits = segment.matches.get(key)
    if bits is None:
        bits = segment.matches.put(key, alive_bits(expression.flags(segment.columns)))
    part = SegmentMatches(segment.n_docs, bits if live.alive is None else bits & live.alive[: len(bits)])
    live.matches.put(key, part)
    return part


def _from_mask(snapshot: Snapshot, mask: Array) -> Matches:
    if mask.dtype != bool or mask.shape != (snapshot.n_alive,):
        must = f"a mask with one boolean per document ({snapshot.n_alive}), in the order of ids()"
        raise invalid("filter", must, f"shape {mask.shape} of {mask.dtype}")
    flags, at = [], 0
    for live in snapshot.segments:
        alive = np.flatnonzero(live.flags())
        own = np.zeros(live.segment.n_docs, bool)
        own[alive[np.argsort(live.segment.rows[alive], kind="stable")]] = mask[at : at + len(alive)]
        flags.append(own)
        at += len(alive)
    return _from_flags(snapshot, flags)


def _from_flags(snapshot: Snapshot, flags: Sequence[Array]) -> Matches:
    pairs = zip(snapshot.segments, flags, strict=True)
    parts = (SegmentMatches(live.segment.n_docs, alive_bits(own & live.flags())) for live, own in pairs)
    return Matches(snapshot, tuple(parts))


def every_document(snapshot: Snapshot) -> Matches:
    """Return all living documents."""
    return _from_flags(snapshot, [live.flags() for live in snapshot.segments])
