"""How is a segment written? Documents are numbered by cluster, encoded in that order, and their lists compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hi2 import _native
from hi2.arguments import thread_count
from hi2.data.spool import Spool
from hi2.filters.columns import Columns
from hi2.ingest.draft import Draft, Postings, StoredRows
from hi2.progress import Phase
from hi2.state.model import Model
from hi2.state.segment import NO_CLUSTER, SegmentMeta, id_arrays, rank_bits, width
from hi2.store.arrays import Sink, put_array
from hi2.text.bags import Bags
from hi2.types import I64, U64, Array, Bytes

_DOCS_PER_BLOCK = 8192
_LINES_PER_BLOCK = 512


def write_segment(sink: Sink, model: Model, draft: Draft, report: Phase = lambda steps: None) -> SegmentMeta:
    """Store a draft as a segment, its documents numbered by cluster and then by arrival, those without one last."""
    n = len(draft.ids)
    n_vectors = int((draft.labels != NO_CLUSTER).sum())
    rows = np.argsort(draft.labels, kind="stable").astype(np.int64)
    docs = np.empty(n, np.int64)
    docs[rows] = np.arange(n)

    put_array(sink, "rows.npy", _pack(rows, n - 1))
    put_array(sink, "by_id.npy", _pack(docs[draft.ids.order()], n - 1))
    for name, array in id_arrays(draft.ids).items():
        put_array(sink, name, array)

    n_runs = 0
    if model.clusters is not None:
        keys, counts = np.unique(draft.labels[draft.labels != NO_CLUSTER], return_counts=True)
        n_runs = len(keys)
        put_array(sink, "cluster_keys.npy", _pack(keys, model.n_clusters - 1))
        put_array(sink, "cluster_offsets.npy", _pack(np.append(0, np.cumsum(counts)), n_vectors))
    n_copy_lists = n_term_lists = n_note_lists = 0
    if draft.copies is not None and len(draft.copies.keys):
        n_copy_lists = _put_lists(sink, "copy", draft.copies, docs, model.n_clusters, 0)
    if model.terms is not None and draft.terms is not None:
        n_term_lists = _put_lists(sink, "term", draft.terms, docs, draft.n_terms, rank_bits(model))
    if draft.notes is not None:
        n_note_lists = _put_lists(sink, "note", draft.notes, docs, draft.n_terms, 0)

    def blocks(read: Callable[[I64], Bytes]) -> Iterator[Array]:
        for begin in range(0, n_vectors, _DOCS_PER_BLOCK):
            part = rows[begin : min(begin + _DOCS_PER_BLOCK, n_vectors)]
            yield read(part)
            report(len(part))

    sink.put("codes.npy", np.uint8, (n_vectors, model.codec.code_bytes), blocks(draft.codes))
    if model.refine is not None and draft.refine_codes is not None:
        sink.put("refine_codes.npy", np.uint8, (n_vectors, model.refine.code_bytes), blocks(draft.refine_codes))
    if draft.bags is not None:
        _put_bags(sink, draft.bags, rows, draft.n_terms)
    if draft.stored is not None:
        _put_stored(sink, draft.stored)
        _put_columns(sink, draft.stored, docs)
    return SegmentMeta(
        n_docs=n,
        ids=draft.ids.kind,
        n_runs=n_runs,
        n_copy_lists=n_copy_lists,
        n_term_lists=n_term_lists,
        n_note_lists=n_note_lists,
        n_terms=draft.n_terms,
        n_without_vector=n - n_vectors,
        pruned_lists=draft.pruned.lists,
        pruned_postings=draft.pruned.postings,
    )


def _pack(values: Array, largest: int) -> Bytes:
    return _native.pack(values.astype(np.uint64), width(largest))


def _put_lists(sink: Sink, name: str, postings: Postings, docs: I64, n_keys: int, bits: int) -> int:
    """Store postings as compressed lists; key, document and rank of each are packed into one integer to be sorted."""
    merged = postings.keys.astype(np.uint64) << np.uint64(40)
    merged |= docs[postings.rows].astype(np.uint64) << np.uint64(8)
    merged |= postings.ranks.astype(np.uint64)
    merged.sort()
    keys: U64
    keys, offsets, blob = _native.encode_lists(
        (merged >> np.uint64(40)).astype(np.uint32),
        ((merged >> np.uint64(8)) & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        (merged & np.uint64(0xFF)).astype(np.uint32),
        len(docs),
        bits,
    )
    put_array(sink, f"{name}_keys.npy", _pack(keys, n_keys - 1))
    put_array(sink, f"{name}_offsets.npy", _pack(offsets, len(blob) - _native.PADDING))
    put_array(sink, f"{name}_lists.npy", blob)
    return len(keys)


def _put_bags(sink: Sink, read: Callable[[I64], Bags], rows: I64, n_terms: int) -> None:
    """Store the bags in the order of documents; what is encoded is spooled, because its size is not known before."""
    sizes, blob = [np.zeros(1, np.uint64)], Spool(np.uint8)
    for begin in range(0, len(rows), _DOCS_PER_BLOCK):
        bags = read(rows[begin : begin + _DOCS_PER_BLOCK])
        own, data = _native.encode_bags(
            bags.offsets, bags.terms, bags.values, bags.lengths, n_terms, thread_count(None)
        )
        sizes.append(own)
        blob.append(data)
    ends = np.cumsum(np.concatenate(sizes), dtype=np.uint64)
    blob.append(np.zeros(_native.PADDING, np.uint8))
    put_array(sink, "bag_offsets.npy", _pack(ends, int(ends[-1])))
    put_array(sink, "bags.npy", blob.finish())


def _put_stored(sink: Sink, stored: StoredRows) -> None:
    n = len(stored.lengths)
    ends = np.cumsum(stored.lengths, dtype=np.uint64)
    put_array(sink, "stored_ends.npy", ends)
    bounds = range(0, n, _LINES_PER_BLOCK)
    blocks = (stored.read(np.arange(begin, min(begin + _LINES_PER_BLOCK, n))).data for begin in bounds)
    sink.put("stored.jsonl", np.uint8, (int(ends[-1]) if n else 0,), blocks)


def _put_columns(sink: Sink, stored: StoredRows, docs: I64) -> None:
    """Store the payload a second time, as typed columns for filters."""
    blocks = (
        stored.read(np.arange(begin, min(begin + _LINES_PER_BLOCK, len(docs))))
        for begin in range(0, len(docs), _LINES_PER_BLOCK)
    )
    columns = Columns.of_lines((line for block in blocks for line in block.rows()), docs, free=stored.free)
    if columns.by_name:
        for name, array in columns.arrays().items():
            put_array(sink, name, array)
