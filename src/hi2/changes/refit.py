"""How does an index take trained parts? Clusters and documents stay; what the parts change is written again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hi2.arguments import thread_count
from hi2.changes.open_index import OpenIndex
from hi2.data.given_array import entries
from hi2.data.vectors import open_vectors
from hi2.errors import Error, described, invalid
from hi2.ingest.documents import TermReader, collect_terms, term_reader
from hi2.ingest.draft import Postings, Pruned, encoder_of, term_postings
from hi2.ingest.merged_draft import merged_draft
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.segment_writer import write_segment
from hi2.progress import Progress
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import SegmentMeta
from hi2.state.snapshot import EMPTY, stored_texts
from hi2.store.arrays import Sink
from hi2.store.trained_parts import Parts, text_checksum


def refit(
    index: OpenIndex,
    parts: Parts | str | Path,
    *,
    vectors: Any,
    texts: Iterable[str] | None,
    threads: int | None,
    progress: bool | Progress | None,
) -> OpenIndex:
    """Return the index with trained parts, in memory; the given one stays as it is."""
    trained = parts if isinstance(parts, Parts) else Parts.load(parts)
    n_threads, bars = thread_count(threads), Progress.of(progress)
    state = with_parts(index.state, trained, vectors=vectors, texts=texts, threads=n_threads, progress=bars)
    return OpenIndex(state, encoder=index.given_encoder, trust_encoder=index.trust_encoder)


def with_parts(
    state: State,
    parts: Parts,
    *,
    vectors: Any,
    texts: Iterable[str] | None,
    threads: int,
    progress: Progress,
) -> State:
    """Return the state with the parts' centroids, terms and codec, its living documents as one segment in memory.

    Term lists are filed again: from the parts' own weights, from ``texts``, or from the texts the index stores. Codes
    stay where the parts were trained on them; otherwise the documents are encoded again from ``vectors``.
    """
    model = state.model
    parts.check(model)
    if state.snapshot.n_alive == 0:
        raise Error("There is nothing to refit: the index is empty.")
    clusters = model.clusters if parts.clusters is None else parts.clusters
    terms = model.terms if parts.terms is None or model.terms is None else parts.terms
    same = parts.codec.encoding_name == model.codec.encoding_name
    if not same and vectors is None:
        raise invalid("vectors", "given: these parts encode the documents anew", None)
    fitted = Model(model.dim, model.metric, clusters, terms, parts.codec, model.refine, model.encoder)
    draft = merged_draft(fitted, state.snapshot.segments)
    n = len(draft.ids)
    if not same:
        own = open_vectors(vectors, metric=model.metric, dim=model.dim)
        if own.n != n:
            raise invalid("vectors", f"one for each of the {n} documents, in the order of ids()", own.n)
        draft = replace(draft, codes=encoder_of(fitted, fitted.codec, own, draft.labels, threads=threads))
    reader = term_reader(terms)
    if terms is not None and reader is not None and terms is not model.terms:
        postings, pruned = _file_terms(state, fitted, reader, parts, texts, progress)
        draft = replace(draft, terms=postings, pruned=pruned)

    def write(sink: Sink) -> SegmentMeta:
        with progress.phase("file documents", n) as report:
            return write_segment(sink, fitted, draft, report)

    segment = segment_in_memory(fitted, write)
    return replace(state, model=fitted, snapshot=EMPTY.plus(segment), added=Added(), profiles={})


def _file_terms(
    state: State,
    model: Model,
    reader: TermReader,
    parts: Parts,
    texts: Iterable[str] | None,
    progress: Progress,
) -> tuple[Postings, Pruned]:
    own = list(entries(stored_texts(state.snapshot) if texts is None else texts, name="texts", must="strings"))
    for row, text in enumerate(own):
        if not isinstance(text, str):
            raise invalid("texts", "strings", f"{described(text)} in row {row}")
    # The scores that training stored belong to its texts, in their order; other texts are scored again.
    same = parts.weights is not None and parts.record.get("data", {}).get("texts") == text_checksum(own)
    bags = parts.weights if same else None
    if bags is None:
        bags = collect_terms(reader, own, state.snapshot.n_alive, progress)
    if model.terms is None:
        raise AssertionError("terms are filed where there are terms")
    return term_postings(model.terms, bags)
