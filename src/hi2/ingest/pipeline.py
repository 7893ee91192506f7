"""Through which stages do the first documents of an index go? Read and check, fit, draft, write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hi2.arguments import boolean
from hi2.codecs import Flat, default_codecs
from hi2.data.vectors import METRICS
from hi2.encoders.encoder import Encoder, EncoderIdentity
from hi2.errors import described, invalid
from hi2.filters.column_types import ColumnTypes, declared_columns
from hi2.ingest.documents import NewDocuments, collect, term_reader
from hi2.ingest.fit import Specs, fit_model
from hi2.ingest.new_segment import file_documents
from hi2.progress import Progress
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.evidence import DenseScale
from hi2.selectors.terms import BM25, fit_evidence
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment
from hi2.state.snapshot import EMPTY
from hi2.store.writer import WriteSegment
from hi2.text.bags import BagCollector
from hi2.types import Floats


def ingest(
    new: NewDocuments,
    specs: Specs,
    *,
    encoder: Encoder | None,
    put: Callable[[Model, WriteSegment], Segment],
    threads: int,
    progress: Progress,
) -> State:
    """Return the first state of an index of these documents; ``put`` says where their segment is written."""
    reader = term_reader(specs.terms)
    keep_text = new.texts is not None if new.keep_text is None else boolean("keep_text", new.keep_text)
    columns = declared_columns(specs.columns)
    documents = collect(
        new.vectors,
        new.texts,
        ids=new.ids,
        term_weights=new.term_weights,
        payload=new.payload,
        types=ColumnTypes(columns),
        keep_text=keep_text,
        metric=specs.metric,
        dim=None,
        reader=reader,
        encoder=encoder,
        first_id=0,
        progress=progress,
    )
    documents.check_findable(reader is not None and boolean("bags", specs.bags))
    codec, refine = default_codecs(specs.codec, specs.refine, documents.vectors.n)
    model = fit_model(
        documents,
        metric=specs.metric,
        clusters=specs.clusters,
        terms=specs.terms,
        reader=reader,
        codec=codec,
        refine=refine,
        bags=boolean("bags", specs.bags),
        encoder=_identity(encoder, documents.vectors.dim),
        threads=threads,
        progress=progress,
    )
    segment = put(model, file_documents(model, documents, threads=threads, progress=progress))
    return State(
        model,
        EMPTY.plus(segment),
        Added(),
        documents.ids.next_integer(),
        keep_text,
        columns=columns,
        grows=left_to_the_index(specs),
    )


def left_to_the_index(specs: Specs) -> bool:
    """Whether the number of clusters and the codec are left to the index, and terms are counted or left out."""
    clusters = isinstance(specs.clusters, KMeans) and specs.clusters.n_clusters is None
    counted = specs.terms is None or isinstance(specs.terms, BM25)
    return clusters and counted and specs.codec is None and specs.refine is None


def empty_state(specs: Specs, *, dim: int, encoder: Encoder | None, keep_text: bool) -> State:
    """Return an index without documents: one cluster that holds all, full vectors, terms that nothing has."""
    if not isinstance(specs.metric, str) or specs.metric not in METRICS:
        raise invalid("metric", f"one of {METRICS}", described(specs.metric))
    if specs.clusters is not None and not (isinstance(specs.clusters, KMeans) and specs.clusters.n_clusters is None):
        must = "KMeans() without a number, or None: an index that begins empty chooses as it grows"
        raise invalid("clusters", must, described(specs.clusters))
    for name, codec in (("codec", specs.codec), ("refine", specs.refine)):
        if codec is not None:
            raise invalid(name, "left out: an index that begins empty chooses as it grows", described(codec))
    reader = term_reader(specs.terms)
    clusters = None
    if isinstance(specs.clusters, KMeans):
        nowhere: Floats = np.zeros((1, dim), np.float32)
        clusters = ClusterSelector(replace(specs.clusters, n_clusters=1), nowhere, nowhere)
    terms = None
    if reader is not None:
        if not isinstance(reader.spec, BM25):
            raise invalid("terms", "BM25(...) or None where there are no documents yet", described(specs.terms))
        none = BagCollector().finish()
        terms = reader.spec.fit(none, reader.tokenizer)
        if boolean("bags", specs.bags):
            terms = replace(terms, evidence=fit_evidence(terms, none, DenseScale.unknown(dim)))
    codec = Flat().fit(np.zeros((1, dim), np.float32), threads=1)
    model = Model(dim, specs.metric, clusters, terms, codec, None, _identity(encoder, dim))
    columns, grows = declared_columns(specs.columns), left_to_the_index(specs)
    return State(model, EMPTY, Added(), 0, keep_text, columns=columns, grows=grows)


def _identity(encoder: Encoder | None, dim: int) -> EncoderIdentity | None:
    if encoder is None:
        return None
    identity = EncoderIdentity.of(encoder)
    if len(identity.probe) != dim:
        raise invalid("encoder", f"one that makes vectors of dimension {dim}", f"dimension {len(identity.probe)}")
    return identity
