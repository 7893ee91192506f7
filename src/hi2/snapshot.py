"""What does the index hold at one moment? Segments and which of their documents are alive; never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from hi2 import _native
from hi2.errors import invalid
from hi2.kept import Kept
from hi2.segment import Segment, alive_bits, alive_flags
from hi2.storage.arrays import FileEntry
from hi2.types import Array, Bytes, Id


@dataclass(frozen=True)
class Live:
    """A segment and its alive bits (None: all are); ``alive_file`` names them where they are on disk."""

    segment: Segment
    alive: Bytes | None = None
    alive_file: tuple[str, FileEntry] | None = None
    #: What filters let through of the living documents.
    passing: Kept[Any] = field(default_factory=Kept, compare=False, repr=False)

    @cached_property
    def n_alive(self) -> int:
        """How many documents are alive."""
        return int(self.flags().sum()) if self.alive is not None else self.segment.n_docs

    def flags(self) -> Array:
        """Return a boolean a document."""
        return alive_flags(self.alive, self.segment.n_docs)

    def has(self, doc: int) -> bool:
        """Return whether a document is alive."""
        return self.alive is None or bool(self.alive[doc >> 3] >> (doc & 7) & 1)

    def without(self, docs: Sequence[int]) -> Live:
        """Return the segment with some documents dead; this one stays as it is."""
        flags = self.flags()
        flags[list(docs)] = False
        return Live(self.segment, alive_bits(flags))


@dataclass(frozen=True)
class Place:
    """Where a document is: the number of its segment and its ordinal there."""

    segment: int
    doc: int


@dataclass(frozen=True)
class Snapshot:
    """The segments in order of arrival."""

    lives: tuple[Live, ...] = ()

    @cached_property
    def n_alive(self) -> int:
        """How many documents can be found."""
        return sum(live.n_alive for live in self.lives)

    @cached_property
    def native(self) -> list[tuple[_native.Segment, Bytes | None]]:
        """The segments as the search takes them."""
        return [(live.segment.native, live.alive) for live in self.lives]

    @property
    def id_kind(self) -> str | None:
        """'int' or 'str'; None while there are no documents."""
        return self.lives[0].segment.meta.ids if self.lives else None

    def find(self, ids: Sequence[Id]) -> list[Place | None]:
        """Return where every id's living document is, None where there is none."""
        places: list[Place | None] = [None] * len(ids)
        for number, live in enumerate(self.lives):
            for i, doc in enumerate(live.segment.ids.find(list(ids)).tolist()):
                if doc >= 0 and live.has(doc):
                    places[i] = Place(number, doc)
        return places

    def without(self, places: Sequence[Place]) -> Snapshot:
        """Return the snapshot with some documents dead."""
        dead: dict[int, list[int]] = {}
        for place in places:
            dead.setdefault(place.segment, []).append(place.doc)
        lives = [live.without(dead[i]) if i in dead else live for i, live in enumerate(self.lives)]
        return Snapshot(tuple(live for live in lives if live.n_alive))

    def plus(self, segment: Segment) -> Snapshot:
        """Return the snapshot with one more segment."""
        return Snapshot((*self.lives, Live(segment)))

    def with_merged(self, begin: int, end: int, segment: Segment | None) -> Snapshot:
        """Return the snapshot with segments [begin, end) replaced by one, or by nothing."""
        middle = () if segment is None else (Live(segment),)
        return replace(self, lives=(*self.lives[:begin], *middle, *self.lives[end:]))


EMPTY = Snapshot()


def row_ids(snapshot: Snapshot, numbers: Array, rows: Array) -> list[Id]:
    """Return the ids of hits given as (segment number, row) pairs."""
    if len(snapshot.lives) == 1:
        return snapshot.lives[0].segment.take_ids(np.ascontiguousarray(rows, np.uint32))
    ids: list[Id] = [0] * len(rows)
    for number in np.unique(numbers):
        places = np.flatnonzero(numbers == number)
        segment = snapshot.lives[int(number)].segment
        for place, found in zip(places, segment.take_ids(np.ascontiguousarray(rows[places], np.uint32)), strict=True):
            ids[place] = found
    return ids


def stored_of(snapshot: Snapshot, ids: Sequence[Id]) -> list[dict[str, Any]]:
    """Return what is stored of some documents."""
    stored = []
    for id, place in zip(ids, snapshot.find(ids), strict=True):
        if place is None:
            raise invalid("ids", "in the index", repr(id))
        segment = snapshot.lives[place.segment].segment
        stored.append({"id": id, **segment.stored(segment.row_of(place.doc))})
    return stored
