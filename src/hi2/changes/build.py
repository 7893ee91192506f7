"""How does an index begin? Its first documents are ingested, into memory or into a new folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hi2.arguments import thread_count
from hi2.changes.open_index import OpenIndex, open_folder
from hi2.codecs import Codec, CodecSpec
from hi2.data.vectors import METRICS
from hi2.encoders.encoder import Encoder
from hi2.errors import InvalidParameter, invalid
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.pipeline import ingest
from hi2.progress import Progress
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.terms import BM25, TermSelector, TermWeights
from hi2.store.new_folder import new_folder


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
    into = partial(
        ingest,
        vectors,
        texts,
        ids=ids,
        encoder=encoder,
        clusters=clusters,
        terms=terms,
        codec=codec,
        refine=refine,
        term_weights=term_weights,
        payload=payload,
        keep_text=keep_text,
        metric=metric,
        threads=thread_count(threads),
        progress=Progress.of(progress),
    )
    if path is None:
        return OpenIndex(into(put=segment_in_memory), encoder=encoder)
    with new_folder(Path(path)) as writer:  # a folder that cannot be written is refused before the work
        state = into(put=writer.write_segment)
        with writer.transaction():
            writer.commit(state)
        del state  # Windows renames no folder whose files are mapped
    return open_folder(path, "w", mmap=True, encoder=encoder)
