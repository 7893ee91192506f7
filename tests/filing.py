"""What do the tests of states and of filing share? Models and segments that are made without an index."""

from __future__ import annotations

import numpy as np

from hi2.codecs import Flat
from hi2.ingest.documents import collect, term_reader
from hi2.ingest.fit import fit_model
from hi2.ingest.new_segment import file_documents, segment_in_memory
from hi2.progress import Progress
from hi2.selectors.clusters import KMeans
from hi2.selectors.terms import BM25

SILENT = Progress(False)


def read(vectors, texts=None, *, terms=None, **changes):
    """Read documents as a build does; ``terms`` is a spec or a fitted selector."""
    arguments = {
        "ids": None,
        "term_weights": None,
        "payload": None,
        "keep_text": False,
        "metric": "inner_product",
        "dim": None,
        "reader": term_reader(terms),
        "encoder": None,
        "first_id": 0,
        "progress": SILENT,
        **changes,
    }
    return collect(vectors, texts, **arguments)


def fit(documents, *, clusters=KMeans(4), terms=None, codec=Flat(), refine=None, **changes):  # noqa: B008 - specs are frozen
    """Fit a model to documents as a build does."""
    arguments = {"metric": "inner_product", "bags": True, "encoder": None, "threads": 1, "progress": SILENT, **changes}
    arguments.setdefault("reader", term_reader(terms))
    return fit_model(documents, clusters=clusters, terms=terms, codec=codec, refine=refine, **arguments)


def model_of(corpus, *, terms=BM25(per_doc=5), **changes):  # noqa: B008 - specs are frozen
    """A model of the corpus, with few clusters and full vectors unless others are given."""
    reader = term_reader(terms)
    documents = read(corpus.vectors, corpus.texts if terms else None, terms=terms, reader=reader)
    return fit(documents, terms=terms, reader=reader, **changes)


def file(model, vectors, texts=None, **changes):
    """File documents as a segment in memory."""
    documents = read(np.atleast_2d(vectors), texts, terms=model.terms, metric=model.metric, **changes)
    return segment_in_memory(model, file_documents(model, documents, threads=1, progress=SILENT))
