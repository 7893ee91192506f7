"""What does an update do? Documents get another payload; their vectors, terms and texts stay as they are.

They are copied to a new segment, as a merge copies them, so nothing is encoded or counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hi2.changes.automatic_merges import merge_after_add
from hi2.changes.delete import without
from hi2.changes.open_index import OpenIndex
from hi2.data.given_array import entries
from hi2.data.ids import check_id
from hi2.data.ragged import Ragged
from hi2.errors import InvalidParameter, described, invalid
from hi2.ingest.draft import StoredRows
from hi2.ingest.merged_draft import merged_draft
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.payload import checked_payload, payload_rows, to_line
from hi2.ingest.segment_writer import write_segment
from hi2.progress import Progress
from hi2.state.segment import alive_bits
from hi2.state.snapshot import LiveSegment, Place, Snapshot, stored_documents
from hi2.types import Id


def update(index: OpenIndex, ids: Id | Sequence[Id], payload: Any) -> None:
    """Change the payload of documents: given keys are replaced, the others stay."""
    single = isinstance(ids, (str, int, np.integer))
    given = [ids] if single else entries(ids, name="ids", must="an id or a list of ids")
    wanted = [check_id(id, name="ids") for id in given]
    if len(set(wanted)) < len(wanted):
        raise invalid("ids", "each given once", "one of them twice")
    one = single and isinstance(payload, dict)
    changes = [payload] if one else list(payload_rows(payload))
    if len(changes) != len(wanted):
        raise InvalidParameter(
            f"The 'payload' parameter must have one mapping per id ({len(wanted)}). Got {len(changes)}."
        )
    with index.changing() as state:
        places = state.snapshot.find_checked(wanted)
        types = state.column_types()
        lines: dict[Id, bytes] = {}
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            raise invalid("ids", "in the index", described(wanted[places.index(None)]))
        for id, own, change in zip(wanted, stored_documents(state.snapshot, wanted), changes, strict=True):
            if not isinstance(change, dict):
                raise invalid("payload", "one mapping per id", f"{described(change)} for {described(id)}")
            merged = {**own.get("payload", {}), **checked_payload(change, f"the payload of {described(id)}")}
            types.admit(merged, f"document {described(id)}")
            text = {"text": own["text"]} if "text" in own else {}
            try:
                lines[id] = to_line({**text, "payload": merged})
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                raise invalid("payload", "JSON data and valid Unicode text", f"{error} for {described(id)}") from error
        if not known:
            return
        draft = merged_draft(state.model, _only(state.snapshot, known))
        column = Ragged.of([lines[id] for id in draft.ids.as_list()])
        draft = replace(draft, stored=StoredRows(column.lengths, column.take))
        segment = segment_in_memory(state.model, lambda sink: write_segment(sink, state.model, draft))
        rest = without(state, known)
        index.state = replace(rest, snapshot=rest.snapshot.plus(segment))
    merge_after_add(index, Progress(False))


def _only(snapshot: Snapshot, places: Sequence[Place]) -> list[LiveSegment]:
    """The segments with no other documents alive than these."""
    found: dict[int, list[int]] = {}
    for place in places:
        found.setdefault(place.segment, []).append(place.doc)
    segments = []
    for number in sorted(found):
        flags = np.zeros(snapshot.segments[number].segment.n_docs, bool)
        flags[found[number]] = True
        segments.append(LiveSegment(snapshot.segments[number].segment, alive_bits(flags)))
    return segments
