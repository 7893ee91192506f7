"""What does adding documents do? They are filed as a segment in memory."""

from __future__ import annotations

from dataclasses import replace

from hi2.arguments import thread_count
from hi2.changes.automatic_merges import merge_after_add
from hi2.changes.open_index import OpenIndex
from hi2.errors import invalid
from hi2.ingest.documents import Documents, NewDocuments, collect, term_reader
from hi2.ingest.new_segment import file_documents, segment_in_memory
from hi2.progress import AnyProgress, Progress
from hi2.state.index_state import State


def add(index: OpenIndex, new: NewDocuments, *, threads: int | None, progress: AnyProgress) -> None:
    """File further documents; an id that exists is refused."""
    bars = Progress.of(progress)
    with index.learning() as state:
        documents = read_documents(index, new, bars)
        ids = documents.ids.as_list()
        for id, place in zip(ids, state.snapshot.find(ids), strict=True):
            if place is not None:
                raise invalid("ids", "new; use upsert to replace documents", f"{id!r}, which exists")
        index.state = with_added(state, documents, threads=thread_count(threads), progress=bars)
    merge_after_add(index, bars)


def read_documents(index: OpenIndex, new: NewDocuments, progress: Progress) -> Documents:
    """Return new documents, checked against each other and against the index."""
    state = index.state
    keep_text = new.keep_text
    if keep_text is None:
        keep_text = new.texts is not None and state.keep_text
    if new.ids is None and state.snapshot.id_kind == "str":
        raise invalid("ids", "given: this index has string ids", None)
    documents = collect(
        new.vectors,
        new.texts,
        ids=new.ids,
        term_weights=new.term_weights,
        payload=new.payload,
        types=None if new.payload is None else state.column_types(),
        keep_text=keep_text,
        metric=state.model.metric,
        dim=state.model.dim,
        reader=term_reader(state.model.terms),
        encoder=index.encoder() if new.vectors is None else None,
        first_id=state.next_id,
        progress=progress,
    )
    documents.check_findable(state.model.evidence is not None)
    if state.snapshot.id_kind not in (None, documents.ids.kind):
        raise invalid("ids", f"of type {state.snapshot.id_kind}, as in the index", f"type {documents.ids.kind}")
    return documents


def with_added(state: State, documents: Documents, *, threads: int, progress: Progress) -> State:
    """Return the state with further documents, as one more segment in memory."""
    segment = segment_in_memory(state.model, file_documents(state.model, documents, threads=threads, progress=progress))
    return replace(
        state,
        snapshot=state.snapshot.plus(segment),
        added=state.added.plus(len(documents.ids), documents.bags, state.model.n_terms),
        next_id=max(state.next_id, documents.ids.next_integer()),
    )
