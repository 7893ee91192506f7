"""Which documents does a filter select? Their number, their ids, their places, their values and their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hi2.arguments import integer
from hi2.data.given_array import entries
from hi2.errors import Error, described, invalid
from hi2.filters.columns import Column
from hi2.filters.expression import read_column
from hi2.search.candidates import every_document, matching
from hi2.state.index_state import State
from hi2.state.snapshot import Place, Snapshot, stored_documents
from hi2.types import Array, Floats, Id


def count(snapshot: Snapshot, filter: Any) -> int:
    """Return how many documents pass; all without a filter."""
    return snapshot.n_alive if filter is None else matching(snapshot, filter).n


def ids(snapshot: Snapshot, filter: Any) -> list[Id]:
    """Return the ids of what passes, in order of arrival."""
    if filter is None:
        return snapshot.ids()
    found: list[Id] = []
    for live, part in zip(snapshot.segments, matching(snapshot, filter).parts, strict=True):
        found.extend(live.segment.take_ids(np.sort(live.segment.rows[part.docs]).astype(np.uint32)))
    return found


def places(snapshot: Snapshot, filter: Any) -> list[Place]:
    """Return where the documents are that pass."""
    parts = matching(snapshot, filter).parts
    return [Place(number, int(doc)) for number, part in enumerate(parts) for doc in part.docs]


def batches(snapshot: Snapshot, filter: Any, size: int) -> Iterator[list[dict[str, Any]]]:
    """Yield what is stored of the documents that pass, in order of arrival, some at a time."""
    size = integer("batch_size", size, low=1)
    found = ids(snapshot, filter)
    return (stored_documents(snapshot, found[at : at + size]) for at in range(0, len(found), size))


def facet(snapshot: Snapshot, name: str, filter: Any, limit: int | None) -> dict[Any, int]:
    """Return the values of a column and how many documents that pass have each, the most frequent first."""
    if not isinstance(name, str):
        raise invalid("name", "the name of a payload column", described(name))
    most = None if limit is None else integer("limit", limit, low=1)
    columns = read_column([live.segment.columns for live in snapshot.segments], name, "name")
    passing = every_document(snapshot) if filter is None else matching(snapshot, filter)
    counts: dict[Any, int] = {}
    for column, part in zip(columns, passing.parts, strict=True):
        for value, n in [] if column is None else _counted(column, part.docs):
            counts[value] = counts.get(value, 0) + n
    ordered = sorted(counts.items(), key=lambda own: (-own[1], str(own[0])))
    return dict(ordered[:most])


def _counted(column: Column, docs: Array) -> list[tuple[Any, int]]:
    """The values of some documents in one segment; a document counts once for each of its values."""
    if column.kind == "other":
        raise invalid("name", "a column that can be filtered on", f"'{column.name}', which has several types")
    if column.offsets is None:
        values = column.values[docs][column.known()[docs]]
    else:
        lengths = np.diff(column.offsets)[docs]
        owners = np.repeat(docs, lengths)
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        values = column.values[np.repeat(column.offsets[:-1][docs], lengths) + within]
        first = np.unique(np.stack([owners.astype(np.float64), values.astype(np.float64)]), axis=1)
        values = first[1].astype(values.dtype)
    found, counts = np.unique(values, return_counts=True)
    named = [column.words[int(own)] for own in found] if column.words else found.tolist()
    if column.kind == "bool":
        named = [bool(own) for own in named]
    return list(zip(named, counts.tolist(), strict=True))


def vectors(state: State, wanted: Id | Sequence[Id]) -> Floats:
    """Return the vectors of some documents as the finest store has them: (n, dim), or (dim,) for one id.

    The row of a document without a vector is NaN.
    """
    single = isinstance(wanted, (str, int, np.integer))
    given = [wanted] if single else list(entries(wanted, name="ids", must="an id or a list of ids"))
    model = state.model
    name, finest = ("codes.npy", model.codec) if model.refine is None else ("refine_codes.npy", model.refine)
    if not finest.gives_back:
        must = f"The vectors cannot be given back: {finest.spec} keeps too little of them."
        raise Error(f"{must} Build with refine=SQ8().")
    places = state.snapshot.find_checked(given)
    found: Floats = np.full((len(given), model.dim), np.nan, np.float32)
    for number, live in enumerate(state.snapshot.segments):
        n_vectors = live.segment.n_vectors
        own = (i for i, place in enumerate(places) if place is not None and place.segment == number)
        rows = [i for i in own if places[i].doc < n_vectors]  # type: ignore[union-attr]
        docs = np.array([places[i].doc for i in rows], np.int64)  # type: ignore[union-attr]
        found[rows] = finest.decode(live.segment.arrays[name][docs])
        if finest.spec.residual and model.clusters is not None:
            found[rows] += model.clusters.anchors[live.segment.labels()[docs]]
    for id, place in zip(given, places, strict=True):
        if place is None:
            raise invalid("ids", "in the index", described(id))
    return found[0] if single else found
