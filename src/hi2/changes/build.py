"""How does an index begin? Documents are read, the parts are fitted to them, and one segment is filed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hi2.arguments import thread_count
from hi2.changes.open_index import OpenIndex, open_folder
from hi2.codecs import Codec, CodecSpec, default_codecs
from hi2.data.vectors import METRICS
from hi2.encoders.encoder import Encoder, EncoderIdentity
from hi2.errors import InvalidParameter, invalid
from hi2.ingest.documents import collect, term_reader
from hi2.ingest.file import file_documents, segment_in_memory
from hi2.ingest.fit import fit_model
from hi2.progress import Progress
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.snapshot import EMPTY
from hi2.store.new_folder import check_new, new_folder


def build(
    vectors: Any,
    texts: Iterable[str] | None,
    *,
    ids: Any,
    encoder: Encoder | None,
    clusters: KMeans | ClusterSelector | None,
    terms: BM25 | TermWeights | TermSelector | None,
    codec: CodecSpec | Codec | None,
    refine: CodecSpec | Codec | None,
    term_weights: Any,
    payload: Iterable[Mapping[str, Any]] | None,
    keep_text: bool,
    metric: str,
    path: str | Path | None,
    threads: int | None,
    progress: bool | Progress | None,
) -> OpenIndex:
    """Return a new index of these documents, in memory or in a new folder."""
    if metric not in METRICS:
        raise invalid("metric", f"one of {METRICS}", repr(metric))
    if term_weights is not None and isinstance(terms, BM25) and terms == BM25():
        terms = TermWeights()
    if clusters is None and terms is None:
        raise InvalidParameter("The 'clusters' and 'terms' parameters must not both be None: no lists are left.")
    if path is not None:
        check_new(Path(path))
    n_threads, bars = thread_count(threads), Progress.of(progress)
    reader = term_reader(terms)
    documents = collect(
        vectors,
        texts,
        ids=ids,
        term_weights=term_weights,
        payload=payload,
        keep_text=keep_text,
        metric=metric,
        dim=None,
        reader=reader,
        encoder=encoder,
        first_id=0,
        progress=bars,
    )
    codec, refine = default_codecs(codec, refine, documents.vectors.n)
    model = fit_model(
        documents,
        metric=metric,
        clusters=clusters,
        terms=terms,
        reader=reader,
        codec=codec,
        refine=refine,
        encoder=_identity(encoder, documents.vectors.dim),
        threads=n_threads,
        progress=bars,
    )
    write = file_documents(model, documents, threads=n_threads, progress=bars)
    state = State(model, EMPTY, Added(), documents.ids.next_integer(), keep_text)
    if path is None:
        segment = segment_in_memory(model, write)
        return OpenIndex(replace(state, snapshot=EMPTY.plus(segment)), encoder=encoder)
    with new_folder(Path(path)) as writer:
        segment = writer.write_segment(model, write)
        with writer.transaction():
            writer.commit(replace(state, snapshot=EMPTY.plus(segment)))
        del segment, write  # Windows renames no folder whose files are mapped
    return open_folder(path, "w", mmap=True, encoder=encoder)


def _identity(encoder: Encoder | None, dim: int) -> EncoderIdentity | None:
    if encoder is None:
        return None
    identity = EncoderIdentity.of(encoder)
    if len(identity.probe) != dim:
        raise invalid("encoder", f"one that makes vectors of dimension {dim}", f"dimension {len(identity.probe)}")
    return identity
