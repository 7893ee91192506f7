"""What will a merged segment hold? The living documents of several segments, in order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hi2.data.distinct import distinct
from hi2.data.ids import IdColumn
from hi2.data.ragged import Ragged
from hi2.ingest.draft import Draft, Postings, Pruned, StoredRows
from hi2.ingest.segment_writer import write_segment
from hi2.progress import Phase
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment
from hi2.store.arrays import Sink
from hi2.text.bags import Bags
from hi2.types import I64, U32, Array, Bytes


def merge_segments(
    sink: Sink, model: Model, segments: Sequence[LiveSegment], report: Phase = lambda steps: None
) -> SegmentMeta:
    """Store the living documents of some segments as one segment. Nothing is fitted, scored or pruned again."""
    return write_segment(sink, model, merged_draft(model, segments), report)


def merged_draft(model: Model, segments: Sequence[LiveSegment], *, words: bool = True) -> Draft:
    """Return the draft of one segment with the living documents of several; their bags and notes unless they change."""
    sources = [_Source(live) for live in segments]
    bases = np.cumsum([0] + [len(source.kept_rows) for source in sources])
    return Draft(
        ids=IdColumn.concatenate([source.live.segment.id_column().take(source.kept_rows) for source in sources]),
        labels=np.concatenate([source.labels() for source in sources]),
        codes=_gather(sources, bases, "codes.npy"),
        refine_codes=_gather(sources, bases, "refine_codes.npy") if model.refine is not None else None,
        terms=_postings(sources, bases, lambda segment: segment.native.term_postings()) if model.terms else None,
        copies=_postings(sources, bases, lambda segment: segment.native.copy_postings()),
        stored=_stored(sources, bases) if any(live.segment.keeps_documents for live in segments) else None,
        notes=_postings(sources, bases, lambda own: own.native.note_postings()) if words and model.evidence else None,
        bags=_bags(sources, bases) if words and model.evidence else None,
        n_terms=max([model.n_terms, *(live.segment.n_terms for live in segments)]),
        pruned=Pruned(
            sum(live.segment.meta.pruned_lists for live in segments),
            sum(live.segment.meta.pruned_postings for live in segments),
        ),
    )


class _Source:
    """One segment of a merge: which rows are kept, and where its documents go."""

    def __init__(self, live: LiveSegment) -> None:
        self.live = live
        rows = live.segment.rows
        self.flags = live.flags()
        alive_by_row = np.zeros(live.segment.n_docs, bool)
        alive_by_row[rows[self.flags]] = True
        #: The old rows that are kept, in order of arrival.
        self.kept_rows: I64 = np.flatnonzero(alive_by_row)
        #: The document of every kept row.
        docs_by_row = np.zeros(live.segment.n_docs, np.int64)
        docs_by_row[rows] = np.arange(live.segment.n_docs)
        self.kept_docs: I64 = docs_by_row[self.kept_rows]
        #: The new row of every old document, relative to the segment's first; -1 where it is deleted.
        self.new_row = np.full(live.segment.n_docs, -1, np.int64)
        self.new_row[self.kept_docs] = np.arange(len(self.kept_docs))

    def labels(self) -> U32:
        return self.live.segment.labels()[self.kept_docs]


def _gather(sources: list[_Source], bases: Array, name: str) -> Callable[[I64], Bytes]:
    arrays = [source.live.segment.arrays[name] for source in sources]

    def read(rows: I64) -> Bytes:
        block = np.empty((len(rows), arrays[0].shape[1]), np.uint8)
        owners = np.searchsorted(bases, rows, side="right") - 1
        for owner in distinct(owners):
            places = np.flatnonzero(owners == owner)
            block[places] = arrays[owner][sources[owner].kept_docs[rows[places] - bases[owner]]]
        return block

    return read


def _bags(sources: list[_Source], bases: Array) -> Callable[[I64], Bags]:
    def read(rows: I64) -> Bags:
        owners = np.searchsorted(bases, rows, side="right") - 1
        order, parts = [], []
        for owner in distinct(owners):
            places = np.flatnonzero(owners == owner)
            docs = sources[owner].kept_docs[rows[places] - bases[owner]]
            parts.append(Bags(*sources[owner].live.segment.native.bags(docs.astype(np.uint32))))
            order.append(places)
        back = np.empty(len(rows), np.int64)
        back[np.concatenate(order)] = np.arange(len(rows))
        return Bags.concatenate(parts).take(back)

    return read


def _postings(sources: list[_Source], bases: Array, decode: Callable[[Segment], tuple[U32, U32, U32]]) -> Postings:
    keys, rows, ranks = [], [], []
    for source, base in zip(sources, bases, strict=False):
        own_keys, docs, own_ranks = decode(source.live.segment)
        new_rows = source.new_row[docs]
        keep = new_rows >= 0
        keys.append(own_keys[keep])
        rows.append((new_rows[keep] + base).astype(np.uint32))
        ranks.append(own_ranks[keep])
    return Postings(np.concatenate(keys), np.concatenate(rows), np.concatenate(ranks))


def _stored(sources: list[_Source], bases: Array) -> StoredRows:
    columns = [
        source.live.segment.stored_column()
        if source.live.segment.keeps_documents
        else Ragged.of([b"{}\n"] * source.live.segment.n_docs)
        for source in sources
    ]

    def read(rows: I64) -> Ragged:
        owners = np.searchsorted(bases, rows, side="right") - 1
        parts = [
            columns[owner].take(sources[owner].kept_rows[rows[owners == owner] - bases[owner]])
            for owner in distinct(owners)
        ]
        return Ragged.concatenate(parts)

    lengths = [column.lengths[source.kept_rows] for column, source in zip(columns, sources, strict=True)]
    stored = (source.live.segment for source in sources if source.live.segment.keeps_documents)
    free = frozenset[str]().union(*(segment.columns.free for segment in stored))
    return StoredRows(np.concatenate(lengths), read, free)
