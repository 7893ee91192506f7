"""How does an index begin? Its first documents are ingested, into memory or into a new folder."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from hi2.arguments import folder_path, thread_count
from hi2.changes.open_index import OpenIndex, open_folder
from hi2.data.vectors import METRICS
from hi2.encoders.encoder import Encoder
from hi2.errors import InvalidParameter, described, invalid
from hi2.ingest.documents import NewDocuments
from hi2.ingest.fit import Specs
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.pipeline import ingest
from hi2.progress import Progress
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.store.new_folder import new_folder


def build(
    new: NewDocuments,
    specs: Specs,
    *,
    encoder: Encoder | None,
    path: str | Path | None,
    threads: int | None,
    progress: bool | Progress | None,
) -> OpenIndex:
    """Return a new index of these documents, in memory or in a new folder."""
    if not isinstance(specs.metric, str) or specs.metric not in METRICS:
        raise invalid("metric", f"one of {METRICS}", described(specs.metric))
    if new.term_weights is not None and isinstance(specs.terms, BM25) and specs.terms == BM25():
        specs = replace(specs, terms=TermWeights())
    if isinstance(specs.terms, TermSelector):
        specs = replace(specs, terms=specs.terms.apart())
    if specs.clusters is None and specs.terms is None:
        raise InvalidParameter("The 'clusters' and 'terms' parameters must not both be None: no lists are left.")
    n_threads, bars = thread_count(threads), Progress.of(progress)
    ingest_into = partial(ingest, new, specs, encoder=encoder, threads=n_threads, progress=bars)
    if path is None:
        return OpenIndex(ingest_into(put=segment_in_memory), encoder=encoder)
    folder = folder_path("path", path)
    with new_folder(folder) as writer:  # a folder that cannot be written is refused before the work
        state = ingest_into(put=writer.write_segment)
        with writer.transaction():
            writer.commit(state)
        del state  # Windows renames no folder whose files are mapped
    return open_folder(folder, "w", mmap=True, encoder=encoder)
