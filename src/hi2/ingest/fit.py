"""How are the parts fitted? Each spec on a seeded sample of the documents; a fitted part is taken as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hi2.codecs import Codec, CodecSpec
from hi2.data.vectors import Vectors
from hi2.encoders.encoder import EncoderIdentity
from hi2.errors import described, invalid
from hi2.ingest.documents import Documents, TermReader
from hi2.progress import Progress
from hi2.selectors.clusters import ClusterSelector, KMeans
from hi2.selectors.evidence import SPREAD_DOCUMENTS, SPREAD_QUERIES, DenseScale, Evidence
from hi2.selectors.terms import BM25, LearnedTerms, TermSelector, TermWeights, fit_evidence
from hi2.state.model import Model
from hi2.types import Floats

SAMPLE_SEED = 0


@dataclass(frozen=True)
class Specs:
    """What an index is to be made of: specs, or parts that are fitted already."""

    clusters: KMeans | ClusterSelector | None
    terms: BM25 | TermWeights | TermSelector | None
    codec: CodecSpec | Codec | None
    refine: CodecSpec | Codec | None
    metric: str
    bags: bool = True
    columns: Any = None


def fit_model(
    documents: Documents,
    *,
    metric: str,
    clusters: KMeans | ClusterSelector | None,
    terms: BM25 | TermWeights | TermSelector | None,
    reader: TermReader | None,
    codec: CodecSpec | Codec,
    refine: CodecSpec | Codec | None,
    bags: bool,
    encoder: EncoderIdentity | None,
    threads: int,
    progress: Progress,
) -> Model:
    """Return the parts fitted to the documents."""
    vectors = documents.vectors
    if clusters is not None and not isinstance(clusters, (KMeans, ClusterSelector)):
        raise invalid("clusters", "KMeans(...), a fitted ClusterSelector or None", described(clusters))
    with progress.phase("fit clusters", None):
        cluster_part = clusters if not isinstance(clusters, KMeans) else _fit_clusters(clusters, vectors, threads)
    with progress.phase("fit terms", None):
        term_part = _fit_terms(terms, reader, documents)
        evidence = _fit_evidence(term_part, documents) if term_part is not None and bags else None
        if term_part is not None and term_part.evidence is not evidence:
            term_part = replace(term_part, evidence=evidence)
    with progress.phase("fit codec", None):
        codec_part = _fit_codec("codec", codec, vectors, cluster_part, threads)
    with progress.phase("fit refine", None):
        refine_part = None if refine is None else _fit_codec("refine", refine, vectors, cluster_part, threads)
    return Model(vectors.dim, metric, cluster_part, term_part, codec_part, refine_part, encoder)


def _sample(vectors: Vectors, size: int) -> Floats:
    """A seeded sample of rows, in order, so that a memory map is read forwards."""
    if size >= vectors.n:
        return vectors.read(slice(0, vectors.n))
    rows = np.random.default_rng(SAMPLE_SEED).choice(vectors.n, size, replace=False)
    return vectors.read(np.sort(rows))


def _fit_clusters(spec: KMeans, vectors: Vectors, threads: int) -> ClusterSelector:
    return spec.fit(_sample(vectors, spec.sample_size(vectors.n)), n_docs=vectors.n, threads=threads)


def _fit_terms(
    terms: BM25 | TermWeights | TermSelector | None, reader: TermReader | None, documents: Documents
) -> TermSelector | None:
    if terms is None or reader is None or documents.bags is None:
        return None
    if isinstance(terms, TermSelector):
        return terms
    if isinstance(reader.spec, LearnedTerms):
        raise invalid("terms", "a fitted TermSelector: learned terms come from training", described(terms))
    return reader.spec.fit(documents.bags, reader.tokenizer)


def _fit_evidence(terms: TermSelector, documents: Documents) -> Evidence | None:
    """What words are worth; that of a fitted selector stays as it is."""
    if terms.evidence is not None or documents.words is None:
        return terms.evidence
    vectors = documents.vectors
    dense = DenseScale.of(_sample(vectors, SPREAD_QUERIES), _sample(vectors, SPREAD_DOCUMENTS))
    return fit_evidence(terms, documents.words, dense)


def _fit_codec(
    name: str, codec: CodecSpec | Codec, vectors: Vectors, clusters: ClusterSelector | None, threads: int
) -> Codec:
    if isinstance(codec, Codec):
        return codec
    if not hasattr(codec, "sample_size") or not hasattr(codec, "fit") or isinstance(codec, type):
        raise invalid(name, "a codec such as Flat(), PQ(...) or OPQ(...)", described(codec))
    sample = _sample(vectors, codec.sample_size)
    if codec.residual:
        if clusters is None:
            raise invalid(name, "not residual where there are no clusters", repr(codec))
        sample = clusters.residuals(sample, clusters.assign(sample, threads=threads)[0])
    return codec.fit(sample, threads=threads)
