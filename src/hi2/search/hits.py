"""What do callers see of the rows that the native search found? Hits by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hi2.state.snapshot import Snapshot, row_ids
from hi2.types import Array, Hits

#: What the native search returns: (segments, rows, scores, counts, n_scored, n_term_lists, dense, lexical). The last
#: two are empty where words do not rank.
Found = Sequence[Array]


def make_hits(snapshot: Snapshot, found: Found, *, k: int, single: bool) -> Hits:
    """Return hits by id; unfilled places hold -1 or None, and -inf."""
    segments, rows, scores, counts, n_scored, n_term_lists, dense, lexical = found
    by_words = len(dense) == len(rows) > 0
    if single:
        count = int(counts[0])
        ids = id_array(snapshot, row_ids(snapshot, segments[0, :count], rows[0, :count]))
        own = scores[0, :count]
        hits = Hits(ids, own, int(n_scored[0]), count, int(n_term_lists[0]), dense=own)
        return replace(hits, dense=dense[0, :count], lexical=lexical[0, :count]) if by_words else hits
    n, width = rows.shape
    filled = np.arange(width) < counts[:, None]
    ids = np.full((n, k), *((None, object) if snapshot.id_kind == "str" else (-1, np.int64)))
    ids[:, :width][filled] = id_array(snapshot, row_ids(snapshot, segments[filled], rows[filled]))

    def padded(values: Array, missing: float) -> Array:
        out = np.full((n, k), missing, np.float32)
        out[:, :width] = values
        return out

    all_scores = padded(scores, -np.inf)
    hits = Hits(ids, all_scores, n_scored, counts, n_term_lists, dense=all_scores)
    return replace(hits, dense=padded(dense, -np.inf), lexical=padded(lexical, 0.0)) if by_words else hits


def id_array(snapshot: Snapshot, ids: list[Any]) -> Array:
    """Return ids as an array: of int64, or of str objects."""
    if snapshot.id_kind != "str":
        return np.array(ids, np.int64)
    array = np.empty(len(ids), object)
    array[:] = ids
    return array
