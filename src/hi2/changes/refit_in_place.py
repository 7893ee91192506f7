"""How does an index stay good while it grows? Its parts are fitted again to what it stores, in place.

Clusters and codec need vectors, which the finest store gives back if it is Flat, Half or SQ8. Terms need texts. Trained
clusters and codecs stay as they are. Where terms were trained or given, or a text or the vectors are not kept, it
refuses (``State.lacks_for_a_fit``).

An index whose number of clusters and codec were left to it is fitted again by itself: when it has twice as many
documents as at the last fit, from ``FIRST_FIT`` on, or half as many more whose terms are others. This happens after an
add, with the merges, in the thread that added; searches go on.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from hi2.changes.open_index import OpenIndex
from hi2.codecs import Codec, CodecSpec, default_codecs
from hi2.data.stored_line import read_line
from hi2.data.vectors import open_vectors
from hi2.errors import Error
from hi2.ingest.documents import Documents, TermReader, collect_terms
from hi2.ingest.fit import fit_model
from hi2.ingest.merged_draft import merged_draft
from hi2.ingest.new_segment import file_documents, segment_in_memory
from hi2.progress import Progress
from hi2.search.selection import vectors as stored_vectors
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.segment import NO_CLUSTER
from hi2.state.snapshot import EMPTY
from hi2.text.words import WordTokenizer

#: An index that grows is fitted for the first time when it has this many documents.
FIRST_FIT = 256
#: It is fitted again when it has so many times the documents of the last fit, or half as many more and this share of
#: their terms is another.
GROWTH_BETWEEN_FITS = 2
MOVED = 0.5

_log = logging.getLogger("hi2")


def fit_after_growth(index: OpenIndex, progress: Progress) -> None:
    """Fit an index again that has grown enough since the last fit. The caller holds ``index.merging``."""
    state = index.state
    n_docs = state.snapshot.n_alive
    evidence = state.model.evidence
    fitted = max(n_docs - state.added.n_docs if evidence is None else evidence.n_docs, 1)
    if not state.grows or n_docs < FIRST_FIT or 2 * state.added.n_docs < fitted:
        return
    if n_docs < GROWTH_BETWEEN_FITS * fitted and state.added.report(state.model).get("df", 0.0) < MOVED:
        return
    if n_docs < index.no_fit_before:
        return
    try:
        fit_in_place(index, threads=1, progress=progress)
    except Error as error:
        index.no_fit_before = GROWTH_BETWEEN_FITS * n_docs
        _log.warning("The index was not fitted to its growth: %s", error)


def fit_in_place(index: OpenIndex, *, threads: int, progress: Progress) -> None:
    """Fit an index to what it stores. Other changes wait, searches do not. The caller holds ``index.merging``."""
    begin = time.perf_counter()
    with index.learning() as state:
        if state.snapshot.n_alive == 0:
            raise Error("There is nothing to refit: the index is empty.")
        fitted = _fitted(state, index, threads, progress)
        index.state = fitted
        for name in state.profiles:
            _log.info("The profile %r was tuned for another fit and is dropped; tune() makes it again.", name)
    seconds = time.perf_counter() - begin
    clusters = 0 if fitted.model.clusters is None else fitted.model.n_clusters
    _log.info("Fitted %d documents again in %.1f s: %d clusters.", fitted.snapshot.n_alive, seconds, clusters)


def _fitted(state: State, index: OpenIndex, threads: int, progress: Progress) -> State:
    """The state with its parts fitted to its documents, which become one segment."""
    model, n = state.model, state.snapshot.n_alive
    lack = state.lacks_for_a_fit()
    if lack is not None:
        raise Error(f"The index cannot be fitted from what it stores: {lack}.")
    draft = merged_draft(model, state.snapshot.segments)
    lines = None if draft.stored is None else draft.stored.read(np.arange(n))
    terms: BM25 | TermSelector | None = model.terms
    bags = words = None
    reader = None if model.terms is None else TermReader(model.terms.spec, model.terms.tokenizer)
    if model.terms is not None and reader is not None and isinstance(reader.spec, BM25):
        texts = [""] * n if lines is None else [read_line(line).get("text", "") for line in lines.rows()]
        tokenizer: Any = model.terms.tokenizer
        terms = reader.spec
        if getattr(tokenizer, "dictionary", None) is not None:
            reader = TermReader(terms, WordTokenizer(tokenizer.stemmer))
        bags = words = collect_terms(reader, texts, n, progress)
    has_vector = draft.labels != NO_CLUSTER
    given = stored_vectors(state, list(compress(state.snapshot.ids(), has_vector)))
    vectors = open_vectors(given, metric=model.metric, dim=model.dim)
    free = frozenset[str]() if draft.stored is None else draft.stored.free
    documents = Documents(vectors, draft.ids, bags, lines, words, None if has_vector.all() else has_vector, free)
    codec, refine = _codecs(state, vectors.n)
    fitted = fit_model(
        documents,
        metric=model.metric,
        clusters=_clusters(state, vectors.n),
        terms=terms,
        reader=reader,
        codec=codec,
        refine=refine,
        bags=model.evidence is not None,
        encoder=model.encoder,
        threads=threads,
        progress=progress,
    )
    put = segment_in_memory if index.writer is None else index.writer.write_segment
    segment = put(fitted, file_documents(fitted, documents, threads=threads, progress=progress))
    return replace(state, model=fitted, snapshot=EMPTY.plus(segment), added=Added(), profiles={})


def _clusters(state: State, n_vectors: int) -> KMeans | ClusterSelector | None:
    """The clusters to fit: as many as the vectors need now, or as many as before. Trained ones stay."""
    own = state.model.clusters
    if (
        own is None
        or n_vectors == 0
        or (own.centroids is not own.anchors and not np.array_equal(own.centroids, own.anchors))
    ):
        return own
    return replace(own.spec, n_clusters=None) if state.grows else own.spec


def _codecs(state: State, n_vectors: int) -> tuple[CodecSpec | Codec, CodecSpec | Codec | None]:
    own, refine = state.model.codec, state.model.refine
    if n_vectors == 0:
        return own, refine
    if state.grows:
        return default_codecs(None, None, n_vectors)
    return _untrained(own), None if refine is None else _untrained(refine)


def _untrained(codec: Codec) -> CodecSpec | Codec:
    """The spec of a codec to fit, or the codec itself if it was trained."""
    return codec if codec.encoding is not None or codec.query_map is not None else codec.spec
