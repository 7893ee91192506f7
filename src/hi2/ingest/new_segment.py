"""How do documents become a segment? Drafted under the model's lists, and written to memory or to a folder."""

from __future__ import annotations

from collections.abc import Sequence

from hi2.ingest.documents import Documents
from hi2.ingest.draft import draft_of
from hi2.ingest.merged_draft import merge_segments
from hi2.ingest.segment_writer import write_segment
from hi2.progress import Phase, Progress
from hi2.state.model import Model
from hi2.state.segment import Segment, SegmentMeta
from hi2.state.snapshot import LiveSegment
from hi2.store.arrays import MemorySink, Sink
from hi2.store.writer import WriteSegment


def file_documents(model: Model, documents: Documents, *, threads: int, progress: Progress) -> WriteSegment:
    """Return a function that writes the documents as one segment."""

    def write(sink: Sink) -> SegmentMeta:
        with progress.phase("file documents", len(documents.ids)) as report:
            draft = draft_of(model, documents, threads=threads, progress=progress)
            return write_segment(sink, model, draft, report)

    return write


def merge_live(model: Model, segments: Sequence[LiveSegment], report: Phase = lambda steps: None) -> WriteSegment:
    """Return a function that writes the living documents of some segments as one segment."""
    return lambda sink: merge_segments(sink, model, segments, report)


def segment_in_memory(model: Model, write: WriteSegment) -> Segment:
    """Return the segment that ``write`` makes, in memory."""
    sink = MemorySink()
    meta = write(sink)
    return Segment(model, meta, sink.arrays)
