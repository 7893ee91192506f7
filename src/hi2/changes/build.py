"""How does an index begin? Its first documents are ingested, into memory or into a new folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hi2.arguments import boolean, folder_path, integer, thread_count
from hi2.changes.open_index import OpenIndex, open_folder
from hi2.data.vectors import MAX_DIM, METRICS
from hi2.encoders.encoder import Encoder, EncoderIdentity
from hi2.errors import InvalidParameter, described, invalid
from hi2.ingest.documents import NewDocuments
from hi2.ingest.fit import Specs
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.pipeline import empty_state, ingest
from hi2.progress import AnyProgress, Progress
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.store.new_folder import new_folder

_log = logging.getLogger("hi2")


def create(
    specs: Specs,
    *,
    dim: int | None,
    encoder: Encoder | None,
    path: str | Path | None,
    overwrite: bool,
    keep_text: bool,
) -> OpenIndex:
    """Return a new index without documents, in memory or in a new folder."""
    if (dim is None) == (encoder is None):
        raise InvalidParameter("Either the 'dim' or the 'encoder' parameter must be given: it says what vectors are.")
    if encoder is not None:
        n_dims = len(EncoderIdentity.of(encoder).probe)
    else:
        n_dims = integer("dim", 0 if dim is None else dim, low=1, high=MAX_DIM - 1)
    state = empty_state(specs, dim=n_dims, encoder=encoder, keep_text=boolean("keep_text", keep_text))
    if path is None:
        return OpenIndex(state, encoder=encoder)
    folder = folder_path("path", path)
    with new_folder(folder, overwrite=boolean("overwrite", overwrite)) as writer, writer.transaction():
        writer.commit(state)
    return open_folder(folder, "w", mmap=True, encoder=encoder)


def build(
    new: NewDocuments,
    specs: Specs,
    *,
    encoder: Encoder | None,
    path: str | Path | None,
    overwrite: bool,
    threads: int | None,
    progress: AnyProgress,
) -> OpenIndex:
    """Return a new index of these documents, in memory or in a new folder."""
    new = replace(new, vectors=_begun(new.vectors))
    if _is_empty(new.vectors):  # with vectors, texts are not touched before all arguments are checked
        new = replace(new, texts=_begun(new.texts))
    if _is_empty(new.vectors) and _is_empty(new.texts) and new.term_weights is None:
        dim = new.vectors.shape[1] if isinstance(new.vectors, np.ndarray) and encoder is None else None
        if dim is None and encoder is None:
            said = "A build of no documents must be given an 'encoder', or 'vectors' of shape (0, dim)"
            raise InvalidParameter(f"{said}: it says what vectors are.")
        keep = new.keep_text is None or new.keep_text
        return create(specs, dim=dim, encoder=encoder, path=path, overwrite=overwrite, keep_text=keep)
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
    begin = time.perf_counter()
    if path is None:
        state = ingest_into(put=segment_in_memory)
        _log.info("Built an index of %d documents in %.1f s.", state.snapshot.n_alive, time.perf_counter() - begin)
        return OpenIndex(state, encoder=encoder)
    folder = folder_path("path", path)
    with new_folder(
        folder, overwrite=boolean("overwrite", overwrite)
    ) as writer:  # a folder that cannot be written is refused before the work
        state = ingest_into(put=writer.write_segment)
        with writer.transaction():
            writer.commit(state)
        del state  # Windows renames no folder whose files are mapped
    index = open_folder(folder, "w", mmap=True, encoder=encoder)
    n_docs = index.state.snapshot.n_alive
    _log.info("Built %s, %d documents, in %.1f s.", folder, n_docs, time.perf_counter() - begin)
    return index


def _is_empty(given: Any) -> bool:
    """Whether nothing is given, or an array or list of no documents."""
    if isinstance(given, np.ndarray):
        return given.ndim == 2 and given.shape[0] == 0 and given.shape[1] > 0
    return given is None or (isinstance(given, (list, tuple)) and not given)


def _begun(given: Any) -> Any:
    """What is given; an iterator is begun, to see whether there is anything in it."""
    if not isinstance(given, Iterator):
        return given
    first = next(given, _NOTHING)
    return [] if first is _NOTHING else chain([first], given)


_NOTHING = object()
