"""What does the index hold at one moment? Its segments, and which of their documents are alive. Immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hi2 import _native
from hi2.data.cache import LruCache
from hi2.data.distinct import distinct
from hi2.data.given_array import entries
from hi2.data.ids import check_id
from hi2.data.lazy import lazy
from hi2.data.stored_line import read_line
from hi2.errors import described, invalid
from hi2.state.segment import Segment, alive_bits, alive_flags
from hi2.types import Array, Bytes, Id


@dataclass(frozen=True)
class LiveSegment:
    """A segment and its alive bits; None if all documents are alive."""

    segment: Segment
    alive: Bytes | None = None
    #: The living documents that match a filter, by filter.
    matches: LruCache[Any] = field(default_factory=LruCache, compare=False, repr=False)

    @lazy
    def n_alive(self) -> int:
        """How many documents are alive."""
        return int(self.flags().sum()) if self.alive is not None else self.segment.n_docs

    @lazy
    def n_without_text(self) -> int:
        """How many living documents have words, but do not keep their text. All stored lines are read."""
        segment = self.segment
        kept = np.zeros(segment.n_docs, bool)
        if segment.keeps_documents:
            kept[:] = [b'"text"' in line and "text" in read_line(line) for line in segment.stored_lines()]
        docs = np.flatnonzero(~kept[segment.rows] & self.flags()).astype(np.uint32)
        if len(docs) == 0:
            return 0
        if "bags.npy" in segment.arrays:
            return int(np.count_nonzero(np.diff(segment.native.bags(docs)[0])))
        return int(np.count_nonzero(np.isin(docs, segment.native.term_postings()[1])))

    def flags(self) -> Array:
        """Return one boolean per document: whether it is alive."""
        return alive_flags(self.alive, self.segment.n_docs)

    def has(self, doc: int) -> bool:
        """Return whether a document is alive."""
        return self.alive is None or bool(self.alive[doc >> 3] >> (doc & 7) & 1)

    def without(self, docs: Sequence[int]) -> LiveSegment:
        """Return the segment without some documents; this one stays as it is."""
        flags = self.flags()
        flags[list(docs)] = False
        return LiveSegment(self.segment, alive_bits(flags))


@dataclass(frozen=True)
class Place:
    """Where a document is: the position of its segment, and its ordinal there."""

    segment: int
    doc: int


@dataclass(frozen=True)
class Snapshot:
    """The segments in order of arrival."""

    segments: tuple[LiveSegment, ...] = ()

    @lazy
    def n_alive(self) -> int:
        """How many documents are alive."""
        return sum(live.n_alive for live in self.segments)

    @lazy
    def native(self) -> list[tuple[_native.Segment, Bytes | None]]:
        """The segments as the native search takes them."""
        return [(live.segment.native, live.alive) for live in self.segments]

    @property
    def id_kind(self) -> str | None:
        """'int' or 'str'; None while there are no documents."""
        return self.segments[0].segment.meta.ids if self.segments else None

    def find(self, ids: Sequence[Id]) -> list[Place | None]:
        """Return where the living document of every id is, None where there is none."""
        places: list[Place | None] = [None] * len(ids)
        for position, live in enumerate(self.segments):
            for i, doc in enumerate(live.segment.ids.find(list(ids)).tolist()):
                if doc >= 0 and live.has(doc):
                    places[i] = Place(position, doc)
        return places

    def find_checked(self, ids: Sequence[Any], *, name: str = "ids") -> list[Place | None]:
        """Return where documents are, as ``find`` does; refuse ids that no document can have, being of another type."""
        wanted = [check_id(id, name=name) for id in ids]
        kind = self.id_kind
        for id in wanted:
            if kind is not None and isinstance(id, str) != (kind == "str"):
                own, other = ("strings", "an integer") if kind == "str" else ("integers", "a string")
                raise invalid(name, f"{own}, as the ids of this index are", f"{described(id)}, {other},")
        return self.find(wanted)

    def has(self, id: object) -> bool:
        """Return whether a document of this id is alive."""
        known = isinstance(id, (int, str, np.integer)) and not isinstance(id, bool)
        return known and self.find([check_id(id)])[0] is not None

    def ids(self) -> list[Id]:
        """Return the ids of all living documents in order of arrival."""
        found: list[Id] = []
        for live in self.segments:
            rows = np.sort(live.segment.rows[live.flags()])
            found.extend(live.segment.take_ids(rows.astype(np.uint32)))
        return found

    def n_without_text(self) -> int:
        """Return how many documents have words, but do not keep their text. All stored lines are read."""
        return sum(live.n_without_text for live in self.segments)

    def without(self, places: Sequence[Place]) -> Snapshot:
        """Return the snapshot without some documents, and without segments that become empty."""
        dead: dict[int, list[int]] = {}
        for place in places:
            dead.setdefault(place.segment, []).append(place.doc)
        segments = [live.without(dead[i]) if i in dead else live for i, live in enumerate(self.segments)]
        return Snapshot(tuple(live for live in segments if live.n_alive))

    def plus(self, segment: Segment) -> Snapshot:
        """Return the snapshot with one more segment."""
        return Snapshot((*self.segments, LiveSegment(segment)))

    def with_merged(self, sources: Sequence[LiveSegment], merged: Segment) -> Snapshot | None:
        """Return the snapshot with neighbours replaced by what they were merged to; None if not all are there.

        What was deleted since the merge read ``sources`` is deleted from ``merged`` too.
        """
        own = [live.segment for live in self.segments]
        begin = own.index(sources[0].segment) if sources[0].segment in own else 0
        end = begin + len(sources)
        if own[begin:end] != [live.segment for live in sources]:
            return None
        deleted: list[Id] = []
        for before, now in zip(sources, self.segments[begin:end], strict=True):
            if now.alive is not before.alive:
                rows = now.segment.rows[before.flags() & ~now.flags()]
                deleted += now.segment.take_ids(rows.astype(np.uint32))
        snapshot = Snapshot((*self.segments[:begin], LiveSegment(merged), *self.segments[end:]))
        return snapshot.without([Place(begin, doc) for doc in merged.ids.find(deleted).tolist()])


EMPTY = Snapshot()


def row_ids(snapshot: Snapshot, segments: Array, rows: Array) -> list[Id]:
    """Return the ids of hits given as (segment position, row) pairs."""
    if len(snapshot.segments) == 1:
        return snapshot.segments[0].segment.take_ids(np.ascontiguousarray(rows, np.uint32))
    ids: list[Id] = [0] * len(rows)
    for position in distinct(segments):
        places = np.flatnonzero(segments == position)
        segment = snapshot.segments[int(position)].segment
        for place, found in zip(places, segment.take_ids(np.ascontiguousarray(rows[places], np.uint32)), strict=True):
            ids[place] = found
    return ids


def stored_documents(snapshot: Snapshot, ids: Sequence[Id]) -> list[dict[str, Any]]:
    """Return the stored text and payload of some documents."""
    stored = []
    for id, place in zip(ids, snapshot.find_checked(ids), strict=True):
        if place is None:
            raise invalid("ids", "in the index", described(id))
        segment = snapshot.segments[place.segment].segment
        stored.append({"id": id, **segment.stored(segment.row_of(place.doc))})
    return stored


#: Stands for a default that was not given.
NO_DEFAULT: Any = ...


def get_documents(snapshot: Snapshot, ids: Id | Sequence[Id], default: Any = NO_DEFAULT) -> Any:
    """Return what is stored of one document, or a list for several; the default, if given, for what is not there."""
    single = isinstance(ids, (str, int, np.integer))
    given = [ids] if single else entries(ids, name="ids", must="an id or a list of ids")
    wanted = [check_id(id, name="ids") for id in given]
    if default is NO_DEFAULT:
        found = stored_documents(snapshot, wanted)
    else:
        there = [id for id, place in zip(wanted, snapshot.find_checked(wanted), strict=True) if place is not None]
        known = dict(zip(there, stored_documents(snapshot, there), strict=True))
        found = [known.get(id, default) for id in wanted]
    return found[0] if single else found


def stored_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of all living documents in order of arrival; refuse if one has none."""
    stored = stored_documents(snapshot, snapshot.ids())
    if not all("text" in own for own in stored):
        raise invalid("texts", "given: this index keeps none, or not all (keep_text=True would)", None)
    return [own["text"] for own in stored]
