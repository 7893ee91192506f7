"""What is in the index, and is it whole? Counts and bytes for people; every invariant for ``verify``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hi2 import _native
from hi2.codecs import Flat
from hi2.errors import Error, FormatError
from hi2.model import Model
from hi2.ragged import Ragged
from hi2.segment import Segment, width
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.snapshot import Live, Snapshot
from hi2.storage.arrays import MemorySink
from hi2.store import State, Stored, check_files
from hi2.types import Array

#: Which part of an index an array's bytes belong to, by the first match.
_PARTS = {
    "refine_codes": "refine",
    "codes": "codes",
    "cluster": "clusters",
    "copy": "copies",
    "term": "terms",
    "id_characters": "id_characters",
    "ids.npy": "id_characters",
    "id": "ids",
    "by_id": "ids",
    "rows": "ids",
    "stored": "stored",
    "column": "stored",
}


def describe(state: State, stored: Stored | None) -> dict[str, Any]:
    """Return counts, bytes by part, list skew and drift.

    ``bytes_per_doc`` leaves out the model, the ids' own characters (or integers) and stored text and payload.
    """
    snapshot, model = state.snapshot, state.model
    parts = _bytes_by_part(snapshot)
    sink = MemorySink()
    model.write(sink)
    model_bytes = sum(int(array.nbytes) for array in sink.arrays.values())
    own = sum(n for part, n in parts.items() if part not in ("id_characters", "stored"))
    filed = sum(live.segment.n_docs for live in snapshot.lives)
    return {
        "n_docs": snapshot.n_alive,
        "n_deleted": filed - snapshot.n_alive,
        "n_segments": len(snapshot.lives),
        "dim": model.dim,
        "metric": model.metric,
        "parts": model.specs(),
        "bytes": {**parts, "model": model_bytes, "total": sum(parts.values()) + model_bytes},
        "bytes_per_doc": own / max(filed, 1),
        "clusters": _cluster_skew(snapshot, model),
        "terms": _term_skew(snapshot, model),
        "drift": state.added.report(model),
        "generation": None if stored is None else stored.manifest["generation"],
        "path": None if stored is None else str(stored.folder),
        "simd": _native.simd_level(),
    }


def without_term_list(state: State, texts: Sequence[str]) -> int:
    """Return how many of these texts have no term that a document is filed under."""
    if state.model.terms is None:
        return len(texts)
    offsets, terms = state.model.terms.query_terms(texts, DEFAULT_QUERY_TERMS)
    filed = _term_lengths(state.snapshot, state.model)[terms] > 0
    opened = np.concatenate([[0], np.cumsum(filed)])[offsets.astype(np.int64)]
    return int((np.diff(opened) == 0).sum())


def _bytes_by_part(snapshot: Snapshot) -> dict[str, int]:
    parts: dict[str, int] = {}
    for live in snapshot.lives:
        for name, n in live.segment.n_bytes.items():
            part = next((part for prefix, part in _PARTS.items() if name.startswith(prefix)), "other")
            parts[part] = parts.get(part, 0) + n
        if live.alive is not None:
            parts["alive"] = parts.get("alive", 0) + live.alive.nbytes
    return parts


def _skew(lengths: Array, n_lists: int) -> dict[str, Any]:
    """How uneven lists are: ``imbalance`` is the length a random posting meets over the mean length, 1 if even."""
    total = int(lengths.sum())
    return {
        "n_lists": n_lists,
        "empty": n_lists - int((lengths > 0).sum()),
        "longest": int(lengths.max()) if len(lengths) else 0,
        "mean": total / max(n_lists, 1),
        "imbalance": float((lengths.astype(np.float64) ** 2).sum() * n_lists / total**2) if total else 1.0,
    }


def _cluster_skew(snapshot: Snapshot, model: Model) -> dict[str, Any] | None:
    if model.clusters is None:
        return None
    lengths = np.zeros(model.n_clusters, np.int64)
    for live in snapshot.lives:
        keys, offsets = live.segment.native.clusters()
        lengths[keys] += np.diff(offsets).astype(np.int64)
    return _skew(lengths, model.n_clusters)


def _term_skew(snapshot: Snapshot, model: Model) -> dict[str, Any] | None:
    if model.terms is None:
        return None
    lengths = _term_lengths(snapshot, model)
    metas = [live.segment.meta for live in snapshot.lives]
    return {
        **_skew(lengths[lengths > 0], int((lengths > 0).sum())),
        "n_postings": int(lengths.sum()),
        "pruned_lists": sum(meta.pruned_lists for meta in metas),
        "pruned_postings": sum(meta.pruned_postings for meta in metas),
    }


def _term_lengths(snapshot: Snapshot, model: Model) -> Array:
    lengths = np.zeros(model.n_terms, np.int64)
    for live in snapshot.lives:
        keys, own = live.segment.native.term_lengths()
        lengths[keys] += own.astype(np.int64)
    return lengths


# -- verify -----------------------------------------------------------------------------------------------------------


def verify(state: State, stored: Stored | None) -> None:
    """Raise FormatError at the first checksum or invariant that does not hold."""
    if stored is not None:
        check_files(stored)
    try:
        if state.model.terms is not None:
            state.model.terms.tokenizer.name(0)  # a stored tokenizer is parsed only now
            if not np.isfinite(state.model.terms.mean_scores).all():
                raise FormatError("term_mean_scores.npy has a value that is not finite.")
        for number, live in enumerate(state.snapshot.lives):
            _verify_segment(state.model, live, number)
        _verify_ids_once(state.snapshot)
        for profile in state.profiles.values():
            profile.check(state.model)
        if any(live.segment.id_column().next_integer() > state.next_id for live in state.snapshot.lives):
            raise FormatError("The manifest's next_id is an id that is in use.")
    except FormatError:
        raise
    except (Error, ValueError, IndexError) as error:
        raise FormatError(f"The index is damaged: {error}.") from error


def _require(holds: Any, number: int, what: str) -> None:
    if not bool(holds):
        raise FormatError(f"Segment {number} is damaged: {what}.")


def _verify_segment(model: Model, live: Live, number: int) -> None:
    segment = live.segment
    n = segment.n_docs
    _require(np.array_equal(np.sort(segment.rows), np.arange(n)), number, "its rows are not a permutation")
    labels = segment.labels()
    rows = segment.rows
    same = labels[1:] == labels[:-1]
    _require(np.all(~same | (rows[1:] > rows[:-1])), number, "documents of a cluster are not in order of arrival")
    order = _native.unpack(segment.arrays["by_id.npy"], width(n - 1), n)
    _require(np.array_equal(np.sort(order), np.arange(n)), number, "its id order is not a permutation")
    _verify_id_order(segment, order, number)
    _verify_postings(model, segment, number)
    if live.alive is not None:
        spare = live.alive[-1] >> (n - 1) % 8 + 1 if n else 0
        _require(spare == 0 and live.n_alive > 0, number, "its alive bits do not fit its documents")
    for name, codec in (("codes.npy", model.codec), ("refine_codes.npy", model.refine)):
        if codec is not None and isinstance(codec.spec, Flat):
            vectors = segment.arrays[name].view(np.float32)
            for begin in range(0, n, 8192):
                _require(
                    np.isfinite(vectors[begin : begin + 8192]).all(), number, f"{name} has a value that is not finite"
                )
    if segment.keeps_documents:
        segment.stored_column()
        for row in range(n):
            segment.stored(row)
        _ = segment.columns


def _verify_id_order(segment: Segment, order: Array, number: int) -> None:
    column = segment.id_column()
    if isinstance(column.values, Ragged):
        begins = column.values.ends - column.values.lengths
        positions = segment.arrays["id_positions.npy"]
        _require(np.array_equal(positions, begins[:: _native.ID_BLOCK]), number, "its id positions are wrong")
        try:
            ids = [row.decode() for row in column.values.rows()]
        except UnicodeDecodeError as error:
            raise FormatError(f"Segment {number} is damaged: an id is not valid UTF-8.") from error
        texts = [ids[row].encode() for row in segment.rows[order.astype(np.int64)]]
        _require(all(a < b for a, b in pairwise(texts)), number, "its ids are not in order")
    else:
        values = column.values[segment.rows[order.astype(np.int64)]]
        _require(np.all(values[1:] > values[:-1]), number, "its ids are not in order")


def _verify_postings(model: Model, segment: Segment, number: int) -> None:
    for name, (keys, docs, ranks), deepest in (
        ("term", segment.native.term_postings(), model.per_doc),
        ("copy", segment.native.copy_postings(), 1),
    ):
        rising = (keys[1:] != keys[:-1]) | (docs[1:] > docs[:-1])
        _require(rising.all(), number, f"a {name} list does not rise")
        _require(np.all(ranks < max(deepest, 1)), number, f"a {name} list has a rank beyond per_doc")
        pairs = docs.astype(np.uint64) << np.uint64(16) | ranks.astype(np.uint64)
        if name == "term":
            _require(len(np.unique(pairs)) == len(pairs), number, "a document has two terms of one rank")


def _verify_ids_once(snapshot: Snapshot) -> None:
    """A living id stands in one segment only."""
    if len(snapshot.lives) < 2:
        return
    seen: set[Any] = set()
    for number, live in enumerate(snapshot.lives):
        rows = live.segment.rows[live.flags()].astype(np.uint32)
        own = live.segment.take_ids(rows)
        _require(seen.isdisjoint(own), number, "an id is alive in two segments")
        seen.update(own)
