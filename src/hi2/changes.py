"""How does one state of an index become the next? Documents are filed, segments merged; nothing is changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hi2.documents import Documents, draft_of
from hi2.errors import Error, invalid
from hi2.filing import write_segment
from hi2.merging import merge_segments, plan_merge
from hi2.profiles import Profile
from hi2.progress import Progress
from hi2.segment import Segment
from hi2.snapshot import EMPTY, Place
from hi2.storage.arrays import MemorySink
from hi2.store import State, Writer, new_folder

#: What was added to an index on disk leaves memory when it comes to this many documents.
SEAL_DOCUMENTS = 1 << 16


def with_first_documents(state: State, documents: Documents, *, threads: int, progress: Progress) -> State:
    """Return the state with the documents it was fitted to, in memory."""
    segment = _file(state, documents, threads, progress)
    return replace(state, snapshot=state.snapshot.plus(segment))


def build_on_disk(folder: Path, state: State, documents: Documents, *, threads: int, progress: Progress) -> None:
    """Write a new index of the documents the state was fitted to; codes go to the disk as they are made."""
    with new_folder(folder) as writer:
        sink = writer.new_segment_sink()
        with progress.phase("file documents", documents.vectors.n) as report:
            draft = draft_of(state.model, documents, threads=threads, progress=progress)
            meta = write_segment(sink, state.model, draft, report)
        segment = writer.open_segment(state.model, meta, sink)
        writer.commit(replace(state, snapshot=EMPTY.plus(segment)), progress)
        del segment, draft  # Windows renames no folder whose files are mapped


def with_added(state: State, documents: Documents, writer: Writer | None, *, threads: int, progress: Progress) -> State:
    """Return the state with further documents; small segments in memory are merged, many leave for the disk."""
    segment = _file(state, documents, threads, progress)
    state = replace(
        state,
        snapshot=state.snapshot.plus(segment),
        added=state.added.plus(len(documents.ids), documents.bags, state.model.n_terms),
        next_id=max(state.next_id, documents.ids.next_integer()),
    )
    n_disk = sum(live.segment.files is not None for live in state.snapshot.lives)
    while plan := plan_merge(state.snapshot.lives[n_disk:]):
        state = with_merged(state, n_disk + plan[0], n_disk + plan[1], None, progress)
    if writer is not None and sum(live.n_alive for live in state.snapshot.lives[n_disk:]) >= SEAL_DOCUMENTS:
        state = with_merged(state, n_disk, len(state.snapshot.lives), writer, progress)
    return state


def with_replaced(
    state: State, documents: Documents, writer: Writer | None, *, threads: int, progress: Progress
) -> State:
    """Return the state with these documents in place of those that have their ids."""
    places = [place for place in state.snapshot.find(documents.ids.as_list()) if place is not None]
    return with_added(without(state, places), documents, writer, threads=threads, progress=progress)


def without(state: State, places: Sequence[Place]) -> State:
    """Return the state without some documents."""
    return replace(state, snapshot=state.snapshot.without(places)) if places else state


def with_profile(state: State, name: str, profile: Profile) -> State:
    """Return the state with a profile under a name; one that was tuned for another model is refused."""
    check_profile_name(name)
    profile.check(state.model)
    return replace(state, profiles={**state.profiles, name: profile})


def check_profile_name(name: str) -> None:
    """Refuse what cannot name a profile."""
    if not isinstance(name, str) or not name:
        raise invalid("name", "a name", repr(name))


def with_merged(state: State, begin: int, end: int, writer: Writer | None, progress: Progress) -> State:
    """Return the state with segments [begin, end) as one: on disk through a writer, else in memory."""
    if writer is None:
        sink = MemorySink()
        meta = merge_segments(sink, state.model, state.snapshot.lives[begin:end])
        segment = Segment(state.model, meta, sink.arrays)
        return replace(state, snapshot=state.snapshot.with_merged(begin, end, segment))
    with progress.phase("merge", state.snapshot.n_alive) as report:
        try:
            return writer.merge(state, begin, end, report)
        except OSError as error:
            raise Error(f"The merge failed: {error}. Nothing was changed; make room and merge again.") from error


def _file(state: State, documents: Documents, threads: int, progress: Progress) -> Segment:
    sink = MemorySink()
    with progress.phase("file documents", documents.vectors.n) as report:
        draft = draft_of(state.model, documents, threads=threads, progress=progress)
        meta = write_segment(sink, state.model, draft, report)
    return Segment(state.model, meta, sink.arrays)
