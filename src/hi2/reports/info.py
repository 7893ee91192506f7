"""What is in the index? Counts, bytes by part, how even the lists are, and drift since the fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hi2 import _native
from hi2.data.given_array import entries
from hi2.errors import described, invalid
from hi2.selectors.terms import DEFAULT_QUERY_TERMS
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.snapshot import Snapshot
from hi2.store.named_files import Stored
from hi2.types import Array

#: The part of an index that an array's bytes belong to, by the first prefix that fits.
_PARTS = {
    "refine_codes": "refine",
    "codes": "codes",
    "cluster": "clusters",
    "copy": "copies",
    "term": "terms",
    "bag": "bags",
    "note": "notes",
    "id_characters": "id_characters",
    "ids.npy": "id_characters",
    "id": "ids",
    "by_id": "ids",
    "rows": "ids",
    "stored": "stored",
    "column": "stored",
}


def info(
    state: State, stored: Stored | None, searches: dict[str, int], queries: Sequence[str] | None
) -> dict[str, Any]:
    """Return the description of an index, with counts of what was searched for, and of ``queries`` if given."""
    report = {**describe(state, stored), "searches": searches}
    if queries is not None:
        report["queries"] = count_queries(state, queries)
    return report


def describe(state: State, stored: Stored | None) -> dict[str, Any]:
    """Return counts, bytes by part, list skew and drift.

    ``bytes_per_doc`` does not count the model, the characters (or integers) of the ids, and stored text and payload.
    """
    snapshot, model = state.snapshot, state.model
    parts = _bytes_by_part(snapshot)
    model_bytes = sum(int(array.nbytes) for array in model.to_arrays()[1].values())
    own = sum(n for part, n in parts.items() if part not in ("id_characters", "stored"))
    filed = sum(live.segment.n_docs for live in snapshot.segments)
    return {
        "n_docs": snapshot.n_alive,
        "n_deleted": filed - snapshot.n_alive,
        "n_without_vector": sum(int(live.flags()[live.segment.n_vectors :].sum()) for live in snapshot.segments),
        "n_segments": len(snapshot.segments),
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


def count_queries(state: State, queries: Iterable[str]) -> dict[str, int]:
    """Return how many texts are given, and how many of them open no term list."""
    texts = list(entries(queries, name="queries", must="a list of texts"))
    for row, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise invalid("queries", "a list of texts", f"{described(text)} in row {row}")
    return {"n": len(texts), "without_term_list": count_without_term_list(state, texts)}


def count_without_term_list(state: State, texts: Sequence[str]) -> int:
    """Return how many of these texts have no term that a document is filed under."""
    if state.model.terms is None:
        return len(texts)
    offsets, terms, _, _ = state.model.terms.query_terms(texts, DEFAULT_QUERY_TERMS)
    filed = _term_lengths(state.snapshot, state.model)[terms] > 0
    opened = np.concatenate([[0], np.cumsum(filed)])[offsets.astype(np.int64)]
    return int((np.diff(opened) == 0).sum())


def _bytes_by_part(snapshot: Snapshot) -> dict[str, int]:
    parts: dict[str, int] = {}
    for live in snapshot.segments:
        for name, n in live.segment.n_bytes.items():
            part = next((part for prefix, part in _PARTS.items() if name.startswith(prefix)), "other")
            parts[part] = parts.get(part, 0) + n
        if live.alive is not None:
            parts["alive"] = parts.get("alive", 0) + live.alive.nbytes
    return parts


def _skew(lengths: Array, n_lists: int) -> dict[str, Any]:
    """How uneven lists are. ``imbalance`` is the mean list length of a random posting over that of a random list."""
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
    for live in snapshot.segments:
        keys, offsets = live.segment.native.clusters()
        lengths[keys] += np.diff(offsets).astype(np.int64)
    return _skew(lengths, model.n_clusters)


def _term_skew(snapshot: Snapshot, model: Model) -> dict[str, Any] | None:
    if model.terms is None:
        return None
    lengths = _term_lengths(snapshot, model)
    metas = [live.segment.meta for live in snapshot.segments]
    return {
        **_skew(lengths[lengths > 0], int((lengths > 0).sum())),
        "n_postings": int(lengths.sum()),
        "pruned_lists": sum(meta.pruned_lists for meta in metas),
        "pruned_postings": sum(meta.pruned_postings for meta in metas),
    }


def _term_lengths(snapshot: Snapshot, model: Model) -> Array:
    lengths = np.zeros(max([model.n_terms, *(live.segment.n_terms for live in snapshot.segments)]), np.int64)
    for live in snapshot.segments:
        keys, own = live.segment.native.term_lengths()
        lengths[keys] += own.astype(np.int64)
    return lengths
