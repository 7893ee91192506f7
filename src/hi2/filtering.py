"""How does a filter meet a search? As one bit a document, in place of the alive bits, or as the few that pass.

What an expression is true of is evaluated once a segment and kept; a change to the index keeps it for every segment it
does not touch. A mask or a list of ids is made into bits anew with every search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hi2 import _native
from hi2.errors import invalid
from hi2.filters import Expression, check_columns, parse
from hi2.ids import check_id
from hi2.model import Model
from hi2.ragged import take_rows
from hi2.segment import alive_bits, alive_flags
from hi2.snapshot import Live, Snapshot
from hi2.types import U32, Array, Bytes

if TYPE_CHECKING:
    from hi2.searching import Effort

#: Clusters are opened in this power of how many times fewer documents pass: measured so that the k best of what passes
#: are found as well as those of all documents are.
WIDENING = 0.75
#: How many bits of a byte are set.
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
#: What passes a filter is scored document by document if it is no more than this, or than four times k.
FEW = 4096


@dataclass(frozen=True)
class Part:
    """Which documents of one segment pass and are alive. It does not hold the segment, which holds it in a cache."""

    n_docs: int
    bits: Bytes
    #: Those that pass, rising, where they were given; else they are read from the bits when asked for.
    given: U32 | None = None

    @cached_property
    def n(self) -> int:
        """How many pass."""
        return len(self.given) if self.given is not None else int(_ONES[self.bits].sum())

    @cached_property
    def docs(self) -> U32:
        """Those that pass, rising."""
        if self.given is not None:
            return self.given
        return np.flatnonzero(alive_flags(self.bits, self.n_docs)).astype(np.uint32)


@dataclass(frozen=True)
class Passing:
    """What passes a filter, segment by segment of a snapshot."""

    snapshot: Snapshot
    parts: tuple[Part, ...]

    @cached_property
    def n(self) -> int:
        """How many documents pass."""
        return sum(part.n for part in self.parts)

    def native(self, *, only: bool) -> list[Any]:
        """Return the segments as the search takes them; with ``only`` every passing document is a candidate."""
        pairs = zip(self.snapshot.lives, self.parts, strict=True)
        if only:
            return [(live.segment.native, part.bits, part.docs) for live, part in pairs]
        return [(live.segment.native, part.bits) for live, part in pairs]


def filter_key(given: Any) -> str | int:
    """Return a key that equal expressions share, however they are given; a mask or a list is known by its identity."""
    if isinstance(given, str):
        given = parse(given)
    return str(given) if isinstance(given, Expression) else id(given)


def passing(snapshot: Snapshot, given: Any) -> Passing:
    """Return what passes a filter: an expression or its text, a boolean mask by ``ids()``, or ids."""
    if isinstance(given, str):
        given = parse(given)
    if isinstance(given, Expression):
        return _expressed(snapshot, given)
    values = given if isinstance(given, np.ndarray) else list(given) if isinstance(given, (list, tuple, set)) else None
    if values is None or (isinstance(values, np.ndarray) and values.ndim != 1):
        must = "an expression, its text, a boolean mask or a list of ids"
        raise invalid("filter", must, f"a {type(given).__name__}")
    if len(values) and isinstance(values[0], (bool, np.bool_)):
        return _masked(snapshot, np.asarray(values))
    ids = [check_id(id, name="filter") for id in values]
    kind = snapshot.id_kind
    for id in ids:
        if kind is not None and isinstance(id, str) != (kind == "str"):
            must = f"ids of type {kind}, as in the index (filters= has one filter a query)"
            raise invalid("filter", must, repr(id))
    docs: list[list[int]] = [[] for _ in snapshot.lives]
    for place in snapshot.find(ids):
        if place is not None:
            docs[place.segment].append(place.doc)
    return Passing(snapshot, tuple(_listed(live, own) for live, own in zip(snapshot.lives, docs, strict=True)))


def _listed(live: Live, docs: list[int]) -> Part:
    """The part of a segment that holds these documents: work in their number, and one bit a document to clear."""
    own = np.unique(np.asarray(docs, np.uint32)).astype(np.uint32)
    bits = np.zeros((live.segment.n_docs + 7) // 8, np.uint8)
    np.bitwise_or.at(bits, own >> 3, (1 << (own & 7)).astype(np.uint8))
    return Part(live.segment.n_docs, bits, own)


def _expressed(snapshot: Snapshot, expression: Expression) -> Passing:
    key = str(expression)
    kept = [live.passing.get(key) for live in snapshot.lives]
    if None in kept:  # a column that only other segments have is known all the same
        check_columns(expression, [live.segment.columns for live in snapshot.lives])
    return Passing(
        snapshot,
        tuple(own or _evaluated(live, key, expression) for live, own in zip(snapshot.lives, kept, strict=True)),
    )


def _evaluated(live: Live, key: str, expression: Expression) -> Part:
    segment = live.segment
    bits = segment.passing.get(key)
    if bits is None:
        bits = segment.passing.put(key, alive_bits(expression.flags(segment.columns)))
    part = Part(segment.n_docs, bits if live.alive is None else bits & live.alive[: len(bits)])
    live.passing.put(key, part)
    return part


def _masked(snapshot: Snapshot, mask: Array) -> Passing:
    if mask.dtype != bool or mask.shape != (snapshot.n_alive,):
        must = f"a mask with one boolean a document ({snapshot.n_alive}), in the order of ids()"
        raise invalid("filter", must, f"shape {mask.shape} of {mask.dtype}")
    flags, at = [], 0
    for live in snapshot.lives:
        alive = np.flatnonzero(live.flags())
        own = np.zeros(live.segment.n_docs, bool)
        own[alive[np.argsort(live.segment.rows[alive], kind="stable")]] = mask[at : at + len(alive)]
        flags.append(own)
        at += len(alive)
    return _of_flags(snapshot, flags)


def _of_flags(snapshot: Snapshot, flags: Sequence[Array]) -> Passing:
    pairs = zip(snapshot.lives, flags, strict=True)
    return Passing(snapshot, tuple(Part(live.segment.n_docs, alive_bits(own & live.flags())) for live, own in pairs))


def search_passing(
    model: Model,
    found: Passing,
    queries: Array,
    offsets: Array,
    numbers: Array,
    effort: Effort,
    *,
    n_docs: int,
    threads: int,
) -> tuple[tuple[Array, ...], Array]:
    """Search what passes: with as many more clusters as fewer documents pass, and on until k are found.

    Lists are opened whole, whatever the effort says of weighing them. Returns what the native search does, and for
    every query whether all that passes was scored.
    """
    n_clusters = model.n_clusters
    effort = replace(effort, budget=None, adaptive=None)
    every = found.n <= max(FEW, 4 * effort.k)
    if not every:  # the fewer pass, the farther the k best of them lie
        wider = math.ceil(effort.clusters * (n_docs / max(found.n, 1)) ** WIDENING)
        effort = replace(effort, clusters=min(n_clusters, wider))
    wanted = min(effort.k, found.n)
    answer: tuple[Array, ...] = _native.search(
        model.native, found.native(only=every), queries, offsets, numbers, effort.native, threads
    )
    complete = np.full(len(queries), every or effort.clusters >= n_clusters > 0)
    rows = np.flatnonzero(answer[3] < wanted)
    if len(rows):
        answer = tuple(np.array(part) for part in answer)
    while len(rows) and not every:
        every = effort.clusters >= n_clusters
        fewest = 0 if model.clusters is None else model.clusters.default_probes
        effort = replace(effort, clusters=min(n_clusters, max(8 * effort.clusters, fewest)))
        starts, terms = take_rows(offsets, numbers, rows)
        block = np.ascontiguousarray(queries[rows])
        again = _native.search(model.native, found.native(only=every), block, starts, terms, effort.native, threads)
        for place, part in zip(answer, again, strict=True):
            place[rows] = part
        complete[rows] = every or effort.clusters >= n_clusters > 0
        rows = rows[again[3] < wanted]
    return answer, complete
