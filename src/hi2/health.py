"""Is the index still as good as when it was fitted? Numbers that drift, and plain advice: merge, refit, retune."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hi2 import _native
from hi2.inspection import describe, without_term_list
from hi2.snapshot import Snapshot
from hi2.store import State, Stored
from hi2.types import Array

#: What each number may be before advice is given.
DEAD_SHARE, MANY_SEGMENTS, IMBALANCE, EMPTY_SHARE = 0.2, 16, 4.0, 0.2
DF_DRIFT, LENGTH_RATIO, GROWTH, ERROR_RATIO, UNSERVED = 0.25, 1.5, 1.0, 1.25, 0.05
_SAMPLE, _DIRECTIONS = 1000, 16


def health(
    state: State, stored: Stored | None, searches: dict[str, int], queries: Sequence[str] | None
) -> dict[str, Any]:
    """Return what has changed since the fit, with ``advice``: a list of sentences, empty where all is well."""
    info = describe(state, stored)
    snapshot = state.snapshot
    filed = sum(live.segment.n_docs for live in snapshot.lives)
    asked = {"n": searches["with_text"], "without_term_list": searches["without_term_list"]}
    if queries is not None:
        asked = {"n": len(queries), "without_term_list": without_term_list(state, queries)}
    report = {
        "documents": snapshot.n_alive,
        "segments": len(snapshot.lives),
        "dead_share": 1 - snapshot.n_alive / filed if filed else 0.0,
        "clusters": info["clusters"],
        "terms": info["terms"],
        "drift": info["drift"],
        "quantisation": _quantisation(state),
        "queries": asked,
        "tuned_on": max((int(own.promise.get("index_documents", 0)) for own in state.profiles.values()), default=0),
    }
    return {**report, "advice": _advice(report) if snapshot.n_alive else []}


def _quantisation(state: State) -> dict[str, float] | None:
    """The mean squared error of codec scores against the refine store's, of fitted and of added documents.

    Known only where there is a refine store: scores of some documents for directions drawn once and for all.
    """
    added = state.added.n_docs
    filed = sum(live.segment.n_docs for live in state.snapshot.lives)
    if state.model.refine is None or not 0 < added < filed:
        return None
    directions = np.random.default_rng(0).standard_normal((_DIRECTIONS, state.model.dim)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    errors = [_error(state, state.snapshot, directions, rows) for rows in ((0, filed - added), (filed - added, filed))]
    return {"fitted": errors[0], "added": errors[1], "ratio": errors[1] / max(errors[0], 1e-30)}


def _error(state: State, snapshot: Snapshot, directions: Array, rows: tuple[int, int]) -> float:
    """The mean squared error over a sample of the documents that arrived in [begin, end)."""
    first, squares = 0, []
    for live in snapshot.lives:
        segment = live.segment
        own = np.flatnonzero((segment.rows >= rows[0] - first) & (segment.rows < rows[1] - first))
        docs = own[:: max(1, len(own) // _SAMPLE)].astype(np.uint32)
        if len(docs):
            for direction in directions:
                scores = (
                    _native.score(state.model.native, segment.native, direction, fine, docs) for fine in (False, True)
                )
                squares.append(np.mean((next(scores) - next(scores)) ** 2))
        first += segment.n_docs
    return float(np.mean(squares)) if squares else 0.0


def _advice(report: dict[str, Any]) -> list[str]:
    said = []
    drift, clusters, asked = report["drift"], report["clusters"], report["queries"]
    if report["dead_share"] > DEAD_SHARE or report["segments"] > MANY_SEGMENTS:
        said.append(f"merge(): {report['dead_share']:.0%} deleted documents in {report['segments']} segments.")
    if clusters is not None and (
        clusters["imbalance"] > IMBALANCE or clusters["empty"] > EMPTY_SHARE * clusters["n_lists"]
    ):
        said.append(
            f"Build anew: clusters are uneven (a document meets {clusters['imbalance']:.1f} times the mean, "
            f"{clusters['empty']} of {clusters['n_lists']} are empty)."
        )
    fitted = max(report["documents"] - drift["added"], 1)
    moved = [
        *([f"terms have moved by {drift['df']:.0%}"] if drift.get("df", 0) > DF_DRIFT else []),
        *(
            [f"texts are {drift['average_length']:.1f} times as long"]
            if max(drift.get("average_length", 1), 1 / max(drift.get("average_length", 1), 1e-9)) > LENGTH_RATIO
            else []
        ),
        *(
            [f"codes of added documents err {report['quantisation']['ratio']:.1f} times as much"]
            if report["quantisation"] is not None and report["quantisation"]["ratio"] > ERROR_RATIO
            else []
        ),
    ]
    if moved:
        said.append(f"Build anew, or refit(): since the fit {', '.join(moved)}.")
    tuned_on = report["tuned_on"] or fitted
    if abs(report["documents"] - tuned_on) > GROWTH * tuned_on:
        when = "tuned" if report["tuned_on"] else "fitted"
        said.append(
            f"tune(): the index had {tuned_on:,} documents when it was {when}, and has {report['documents']:,}."
        )
    if asked["n"] and asked["without_term_list"] > UNSERVED * asked["n"]:
        said.append(
            f"Look at the tokenizer: {asked['without_term_list']:,} of {asked['n']:,} queries open no term list, "
            f"only clusters are searched for them."
        )
    return said
