"""How does an index take trained parts, or statistics of what it holds now? What they change is written again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import thread_count
from hi2.changes.open_index import OpenIndex
from hi2.changes.refit_in_place import fit_in_place
from hi2.data.given_array import entries
from hi2.data.vectors import open_some_vectors
from hi2.errors import Error, InvalidParameter, described, invalid
from hi2.ingest.documents import Documents, TermReader, collect_terms, count_words, term_reader
from hi2.ingest.draft import bag_reader, encoder_of, note_postings, term_postings
from hi2.ingest.merged_draft import merged_draft
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.segment_writer import write_segment
from hi2.progress import AnyProgress, Progress
from hi2.selectors.evidence import SPREAD_DOCUMENTS, SPREAD_QUERIES, DenseScale
from hi2.selectors.terms import BM25, LearnedTerms, TermSelector, TermWeights, fit_evidence
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import NO_CLUSTER, SegmentMeta
from hi2.state.snapshot import EMPTY, stored_texts
from hi2.store.arrays import Sink
from hi2.store.trained_parts import Parts, text_checksum
from hi2.text.bags import Bags
from hi2.text.words import WordTokenizer
from hi2.types import Floats


def refit(
    index: OpenIndex,
    parts: Parts | str | Path | None,
    *,
    terms: BM25 | None,
    bags: bool,
    vectors: Any,
    texts: Iterable[str] | None,
    threads: int | None,
    progress: AnyProgress,
) -> OpenIndex:
    """Return the index fitted in place, or another with trained parts or with terms fitted to what it holds."""
    n_threads, bars = thread_count(threads), Progress.of(progress)
    if bags and all(given is None for given in (parts, terms, texts, vectors)):
        with index.merging:
            fit_in_place(index, threads=n_threads, progress=bars)
        return index
    if parts is None:
        if vectors is not None:
            raise invalid("vectors", "left out: only terms are fitted again without parts", described(vectors))
        state = with_terms(index.state, terms, bags=bags, texts=texts, progress=bars)
    else:
        if terms is not None:
            raise InvalidParameter("Only one of the 'parts' and 'terms' parameters must be given.")
        trained = parts if isinstance(parts, Parts) else Parts.load(parts)
        state = with_parts(
            index.state, trained, bags=bags, vectors=vectors, texts=texts, threads=n_threads, progress=bars
        )
    return OpenIndex(state, encoder=index.given_encoder, trust_encoder=index.trust_encoder)


def with_parts(
    state: State,
    parts: Parts,
    *,
    bags: bool,
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
    _check_not_empty(state)
    clusters = model.clusters if parts.clusters is None else parts.clusters
    terms = model.terms if parts.terms is None or model.terms is None else parts.terms
    same = parts.codec.encoding_name == model.codec.encoding_name
    if not same and vectors is None:
        raise invalid("vectors", "given: these parts encode the documents anew", None)
    codes = None
    if not same:
        new, given = open_some_vectors(vectors, metric=model.metric, dim=model.dim)
        n_given = new.n if given is None else len(given)
        if n_given != state.snapshot.n_alive:
            must = f"one for each of the {state.snapshot.n_alive} documents, in the order of ids()"
            raise invalid("vectors", must, n_given)
        codes = new, given, threads
    own = None if terms is None or terms is model.terms else _texts(state, texts)
    terms = None if terms is None else terms.apart()
    words = filed = None
    if terms is not None and own is not None:
        reader = TermReader(terms.spec, terms.tokenizer)
        filed = _weights(parts, own)
        if filed is None:
            filed = collect_terms(reader, own, state.snapshot.n_alive, progress)
        counted = isinstance(terms.spec, BM25)
        words = None if not bags else filed if counted else count_words(reader, own)
        evidence = None if words is None else fit_evidence(terms, words, _dense_scale(state))
        terms = replace(terms, evidence=evidence)
    fitted = Model(model.dim, model.metric, clusters, terms, parts.codec, model.refine, model.encoder)
    return _written(state, fitted, filed, words, codes, progress)


def with_terms(
    state: State, terms: BM25 | None, *, bags: bool, texts: Iterable[str] | None, progress: Progress
) -> State:
    """Return the state with terms fitted to its living documents, which become one segment in memory.

    Clusters and codes stay. ``terms`` is another spec; None fits the same again.
    """
    model = state.model
    _check_not_empty(state)
    if model.terms is None and terms is None:
        raise invalid("terms", "given: the index was built without terms", None)
    if terms is not None and not isinstance(terms, BM25):
        raise invalid("terms", "BM25(...), or None for the same again", described(terms))
    if terms is None and model.terms is not None and isinstance(model.terms.spec, TermWeights):
        raise invalid("terms", "given: documents were filed by weights, which the index does not keep", None)
    own = _texts(state, texts)
    reader = _reader(model.terms) if terms is None and model.terms is not None else term_reader(terms)
    if reader is None:
        raise AssertionError("there is a spec")
    filed = collect_terms(reader, own, state.snapshot.n_alive, progress)
    if isinstance(reader.spec, LearnedTerms) and model.terms is not None:  # a scorer is trained, not fitted
        selector, words = model.terms, count_words(reader, own)
    else:
        if not isinstance(reader.spec, BM25):
            raise AssertionError("other specs were refused")
        selector, words = reader.spec.fit(filed, reader.tokenizer), filed
    evidence = fit_evidence(selector, words, _dense_scale(state)) if bags else None
    fitted = replace(model, terms=replace(selector, evidence=evidence))
    return _written(state, fitted, filed, words if bags else None, None, progress)


def _check_not_empty(state: State) -> None:
    if state.snapshot.n_alive == 0:
        raise Error("There is nothing to refit: the index is empty.")


def _texts(state: State, texts: Iterable[str] | None) -> list[str]:
    """The texts of all documents, given or stored."""
    own = list(entries(stored_texts(state.snapshot) if texts is None else texts, name="texts", must="strings"))
    for row, text in enumerate(own):
        if not isinstance(text, str):
            raise invalid("texts", "strings", f"{described(text)} in row {row}")
    if len(own) != state.snapshot.n_alive:
        must = f"one for each of the {state.snapshot.n_alive} documents, in the order of ids()"
        raise invalid("texts", must, len(own))
    return own


def _reader(terms: TermSelector) -> TermReader:
    """How texts are read again: with the same tokenizer, or with an empty dictionary where it has one."""
    tokenizer: Any = terms.tokenizer
    stemmer = getattr(tokenizer, "stemmer", None)
    if getattr(tokenizer, "dictionary", None) is not None and not isinstance(terms.spec, LearnedTerms):
        tokenizer = WordTokenizer(stemmer)
    return TermReader(terms.spec, tokenizer)


def _weights(parts: Parts, texts: list[str]) -> Bags | None:
    """The scores that training stored, which belong to its texts in their order; None for other texts."""
    same = parts.weights is not None and parts.record.get("data", {}).get("texts") == text_checksum(texts)
    return parts.weights if same else None


def _dense_scale(state: State) -> DenseScale:
    """How dense scores are distributed: as it was fitted, or of the stored codes where documents came since."""
    evidence = state.model.evidence
    if evidence is not None and state.added.n_docs == 0:
        return evidence.dense
    decoded = _decoded_sample(state)
    return DenseScale.of(decoded[:SPREAD_QUERIES], decoded)


def _decoded_sample(state: State) -> Floats:
    """Some documents as their codes have them: the scores of all unit vectors."""
    model = state.model
    rng = np.random.default_rng(0)
    alive = [live.flags()[: live.segment.n_vectors] for live in state.snapshot.segments]
    n = sum(int(flags.sum()) for flags in alive)
    rows = np.sort(rng.choice(n, min(SPREAD_DOCUMENTS, n), replace=False))
    parts, base = [], 0
    for live, flags in zip(state.snapshot.segments, alive, strict=True):
        docs = np.flatnonzero(flags).astype(np.uint32)
        own = docs[rows[(rows >= base) & (rows < base + len(docs))] - base]
        base += len(docs)
        columns = [
            _native.score(model.native, live.segment.native, unit, model.refine is not None, own)
            for unit in np.eye(model.dim, dtype=np.float32)
        ]
        parts.append(np.stack(columns, axis=1))
    sample: Floats = np.concatenate(parts)
    return rng.permutation(sample)


def _written(
    state: State, model: Model, filed: Bags | None, words: Bags | None, codes: Any, progress: Progress
) -> State:
    """The living documents as one segment of another model; what was given is written anew, the rest is copied."""
    draft = merged_draft(model, state.snapshot.segments, words=words is None)
    n = len(draft.ids)
    if model.evidence is None and (draft.labels == NO_CLUSTER).any():
        raise invalid("bags", "True: the index has documents without a vector, which only words find", False)
    if codes is not None:
        vectors, given, threads = codes
        documents = Documents(vectors, draft.ids, None, None, has_vector=given)
        differs = (documents.vector_rows >= 0) != (draft.labels != NO_CLUSTER)
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            must = "given where a document has a vector, and None where it has none"
            raise invalid("vectors", must, f"another value for {described(draft.ids.as_list()[row])} (row {row})")
        draft = replace(draft, codes=encoder_of(model, model.codec, documents, draft.labels, threads=threads))
    if filed is not None and model.terms is not None:
        postings, pruned = term_postings(model.terms, filed)
        draft = replace(draft, terms=postings, pruned=pruned, n_terms=model.terms.tokenizer.n_terms)
        all_of = draft.labels == NO_CLUSTER
        draft = replace(draft, notes=note_postings(model.terms, filed, postings, words, all_of))
    if words is not None:
        draft = replace(draft, bags=bag_reader(model.terms, words))

    def write(sink: Sink) -> SegmentMeta:
        with progress.phase("file documents", n) as report:
            return write_segment(sink, model, draft, report)

    segment = segment_in_memory(model, write)
    return replace(state, model=model, snapshot=EMPTY.plus(segment), added=Added(), profiles={}, grows=False)
