"""How does an index take up trained parts? Clusters and documents stay; what the parts change is written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from hi2.documents import TermReader, collect_terms, encoder_of, term_postings
from hi2.drift import Added
from hi2.errors import Error, invalid
from hi2.filing import Postings, Pruned, write_segment
from hi2.fitting import term_reader
from hi2.merging import merged_draft
from hi2.model import Model
from hi2.parts import Parts, text_checksum
from hi2.progress import Progress
from hi2.segment import Segment
from hi2.snapshot import EMPTY
from hi2.storage.arrays import MemorySink
from hi2.store import State
from hi2.vectors import open_vectors


def refitted(
    state: State,
    parts: Parts,
    *,
    vectors: Any,
    texts: Iterable[str] | None,
    stored_texts: Callable[[], Sequence[str]],
    threads: int,
    progress: Progress,
) -> State:
    """Return the state with the parts' centroids, terms and codec, its living documents as one segment in memory.

    Term lists are filed anew from the parts' own weights, from ``texts``, or from the texts the index keeps. Codes stay
    where the parts were trained on them, and are made anew from ``vectors`` where they were not.
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
    draft = merged_draft(fitted, state.snapshot.lives)
    n = len(draft.ids)
    if not same:
        own = open_vectors(vectors, metric=model.metric, dim=model.dim)
        if own.n != n:
            raise invalid("vectors", f"one for each of the {n} documents, in the order of ids()", own.n)
        draft = replace(draft, codes=encoder_of(fitted, fitted.codec, own, draft.labels, threads=threads))
    reader = term_reader(terms)
    if terms is not None and reader is not None and terms is not model.terms:
        postings, pruned = _filed(fitted, reader, parts, n, texts, stored_texts, progress)
        draft = replace(draft, terms=postings, pruned=pruned)
    sink = MemorySink()
    with progress.phase("file documents", n) as report:
        meta = write_segment(sink, fitted, draft, report)
    return replace(
        state, model=fitted, snapshot=EMPTY.plus(Segment(fitted, meta, sink.arrays)), added=Added(), profiles={}
    )


def _filed(
    model: Model,
    reader: TermReader,
    parts: Parts,
    n: int,
    texts: Iterable[str] | None,
    stored_texts: Callable[[], Sequence[str]],
    progress: Progress,
) -> tuple[Postings, Pruned]:
    own = list(stored_texts() if texts is None else texts)
    # Scores that training kept are of its texts, in its order; others are scored anew.
    kept = parts.weights is not None and parts.record.get("data", {}).get("texts") == text_checksum(own)
    bags = parts.weights if kept else None
    if bags is None:
        bags = collect_terms(reader, own, n, progress)
    if model.terms is None:
        raise AssertionError("terms are filed where there are terms")
    return term_postings(model.terms, bags)
