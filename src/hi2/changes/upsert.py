"""What does an upsert do? It replaces documents whose ids exist and adds the others, in one change."""

from __future__ import annotations

from hi2.arguments import thread_count
from hi2.changes.add import read_documents, with_added
from hi2.changes.automatic_merges import merge_after_add
from hi2.changes.delete import without
from hi2.changes.open_index import OpenIndex
from hi2.errors import invalid
from hi2.ingest.documents import NewDocuments
from hi2.progress import AnyProgress, Progress


def upsert(index: OpenIndex, new: NewDocuments, *, threads: int | None, progress: AnyProgress) -> None:
    """File documents, replacing those whose ids exist."""
    if new.ids is None:
        raise invalid("ids", "given: they say what is replaced", None)
    bars = Progress.of(progress)
    with index.learning() as state:
        documents = read_documents(index, new, bars)
        places = [place for place in state.snapshot.find(documents.ids.as_list()) if place is not None]
        rest = without(state, places)
        index.state = with_added(rest, documents, threads=thread_count(threads), progress=bars)
    merge_after_add(index, bars)
