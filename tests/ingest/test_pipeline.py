"""The first documents become a model and one segment, put where the caller says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hi2
from hi2.ingest.documents import NewDocuments
from hi2.ingest.fit import Specs
from hi2.ingest.new_segment import segment_in_memory
from hi2.ingest.pipeline import ingest
from hi2.progress import Progress


def first_state(corpus, put=segment_in_memory, *, ids=None, keep_text=False, encoder=None, **parts):
    new = NewDocuments(corpus.vectors[:80], corpus.texts[:80], corpus.ids[:80] if ids is None else ids)
    specs = Specs(hi2.KMeans(6), hi2.BM25(), None, None, "inner_product")
    return ingest(
        replace(new, keep_text=keep_text),
        replace(specs, **parts),
        encoder=encoder,
        put=put,
        threads=1,
        progress=Progress(False),
    )


def test_the_first_state_holds_every_document_under_fitted_parts(corpus):
    state = first_state(corpus, keep_text=True)
    assert state.snapshot.ids() == corpus.ids[:80]
    assert state.model.n_clusters == 6
    assert repr(state.model.codec.spec) == "Flat()"
    assert state.keep_text
    assert state.added.n_docs == 0
    assert state.next_id == 0  # string ids are not counted on
    assert first_state(corpus, ids=range(5, 85)).next_id == 85


def test_the_segment_is_put_where_the_caller_says(corpus):
    placed = []

    def put(model, write):
        placed.append(segment_in_memory(model, write))
        return placed[-1]

    state = first_state(corpus, put)
    assert [live.segment for live in state.snapshot.segments] == placed


def test_a_spec_and_its_fitted_part_file_documents_alike(corpus):
    fitted = first_state(corpus)
    again = first_state(corpus, clusters=fitted.model.clusters, terms=fitted.model.terms, codec=fitted.model.codec)
    (one,), (other,) = fitted.snapshot.segments, again.snapshot.segments
    for name, array in one.segment.arrays.items():
        np.testing.assert_array_equal(other.segment.arrays[name], array)


def test_an_encoder_of_another_dimension_is_refused(corpus):
    with pytest.raises(hi2.InvalidParameter, match="dimension 40"):
        first_state(corpus, encoder=hi2.StaticEncoder())
