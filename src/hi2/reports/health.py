"""Is the index still as good as when it was fitted? Numbers that drift, and advice: merge, refit or tune."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hi2 import _native
from hi2.reports.info import count_queries, describe
from hi2.state.index_state import State
from hi2.state.snapshot import Snapshot
from hi2.store.named_files import Stored
from hi2.types import Array

#: ``health`` gives advice where a number is larger than its threshold.
MAX_DEAD_SHARE, MAX_SEGMENTS, MAX_IMBALANCE, MAX_EMPTY_SHARE = 0.2, 16, 4.0, 0.2
MAX_DF_DRIFT, MAX_LENGTH_RATIO, MAX_GROWTH, MAX_ERROR_RATIO, MAX_WITHOUT_TERM_LIST = 0.25, 1.5, 1.0, 1.25, 0.05
#: Documents per segment, and directions, that quantisation errors are measured on.
_N_SAMPLED, _N_DIRECTIONS = 1000, 16


def health(
    state: State, stored: Stored | None, searches: dict[str, int], queries: Sequence[str] | None
) -> dict[str, Any]:
    """Return what has changed since the fit, and ``advice``: a list of sentences, empty if all is well."""
    info = describe(state, stored)
    snapshot = state.snapshot
    filed = sum(live.segment.n_docs for live in snapshot.segments)
    asked = {"n": searches["with_text"], "without_term_list": searches["without_term_list"]}
    if queries is not None:
        asked = count_queries(state, queries)
    report = {
        "documents": snapshot.n_alive,
        "segments": len(snapshot.segments),
        "dead_share": 1 - snapshot.n_alive / filed if filed else 0.0,
        "clusters": info["clusters"],
        "terms": info["terms"],
        "drift": info["drift"],
        "quantisation": _quantisation(state),
        "queries": asked,
        "tuned_on": max((int(own.promise.get("index_documents", 0)) for own in state.profiles.values()), default=0),
    }
    return {**report, "advice": _advice(report, state.lacks_for_a_fit) if snapshot.n_alive else []}


def _quantisation(state: State) -> dict[str, float] | None:
    """The mean squared error of codec scores against those of the refine store, for fitted and for added documents.

    It is measured on a sample of documents, with directions that are the same every time. None without a refine store.
    """
    added = state.added.n_docs
    filed = sum(live.segment.n_docs for live in state.snapshot.segments)
    if state.model.refine is None or not 0 < added < filed:
        return None
    directions = np.random.default_rng(0).standard_normal((_N_DIRECTIONS, state.model.dim)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    errors = [_error(state, state.snapshot, directions, rows) for rows in ((0, filed - added), (filed - added, filed))]
    return {"fitted": errors[0], "added": errors[1], "ratio": errors[1] / max(errors[0], 1e-30)}


def _error(state: State, snapshot: Snapshot, directions: Array, rows: tuple[int, int]) -> float:
    """The mean squared error over a sample of the documents that arrived in rows [begin, end)."""
    first, squares = 0, []
    for live in snapshot.segments:
        segment = live.segment
        arrived = segment.rows[: segment.n_vectors]
        own = np.flatnonzero((arrived >= rows[0] - first) & (arrived < rows[1] - first))
        docs = own[:: max(1, len(own) // _N_SAMPLED)].astype(np.uint32)
        if len(docs):
            for direction in directions:
                scores = (
                    _native.score(state.model.native, segment.native, direction, fine, docs) for fine in (False, True)
                )
                with np.errstate(invalid="ignore"):  # a damaged index may score infinities
                    squares.append(np.mean(np.subtract(*scores, dtype=np.float64) ** 2))
        first += segment.n_docs
    return float(np.mean(squares)) if squares else 0.0


def _advice(report: dict[str, Any], lacks_for_a_fit: Callable[[], str | None]) -> list[str]:
    said, unfit = [], []
    drift, clusters, asked = report["drift"], report["clusters"], report["queries"]
    if report["dead_share"] > MAX_DEAD_SHARE or report["segments"] > MAX_SEGMENTS:
        said.append(f"merge(): {report['dead_share']:.0%} deleted documents in {report['segments']} segments.")
    if clusters is not None and (
        clusters["imbalance"] > MAX_IMBALANCE or clusters["empty"] > MAX_EMPTY_SHARE * clusters["n_lists"]
    ):
        unfit.append(
            f"clusters are uneven (a document meets {clusters['imbalance']:.1f} times the mean, "
            f"{clusters['empty']} of {clusters['n_lists']} are empty)"
        )
    fitted = max(report["documents"] - drift["added"], 1)
    moved = [
        *([f"terms have moved by {drift['df']:.0%}"] if drift.get("df", 0) > MAX_DF_DRIFT else []),
        *(
            [f"texts are {drift['average_length']:.1f} times as long"]
            if max(drift.get("average_length", 1), 1 / max(drift.get("average_length", 1), 1e-9)) > MAX_LENGTH_RATIO
            else []
        ),
        *(
            [f"codes of added documents err {report['quantisation']['ratio']:.1f} times as much"]
            if report["quantisation"] is not None and report["quantisation"]["ratio"] > MAX_ERROR_RATIO
            else []
        ),
    ]
    unfit += [f"since the fit {', '.join(moved)}"] if moved else []
    lack = lacks_for_a_fit() if unfit else None
    remedy = "refit()" if lack is None else f"refit() would help but cannot, because {lack}"
    said += [f"{remedy}: {why}." for why in unfit]
    tuned_on = report["tuned_on"] or fitted
    if abs(report["documents"] - tuned_on) > MAX_GROWTH * tuned_on:
        when = "tuned" if report["tuned_on"] else "fitted"
        said.append(
            f"tune(): the index had {tuned_on:,} documents when it was {when}, and has {report['documents']:,}."
        )
    if asked["n"] and asked["without_term_list"] > MAX_WITHOUT_TERM_LIST * asked["n"]:
        said.append(
            f"Look at the tokenizer: {asked['without_term_list']:,} of {asked['n']:,} queries open no term list, "
            f"only clusters are searched for them."
        )
    return said
