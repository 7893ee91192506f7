"""A draft is written with documents numbered by cluster, and its lists keep every posting."""

from __future__ import annotations

import numpy as np
import pytest

import filing
import hi2
from hi2 import _native
from hi2.ingest import segment_writer
from hi2.ingest.draft import draft_of
from hi2.ingest.segment_writer import write_segment
from hi2.state.segment import Segment, width
from hi2.store.arrays import FolderSink, MemorySink, map_file
from hi2.store.folder import Folder

N = 80


@pytest.fixture(scope="module")
def model(corpus):
    clusters = hi2.KMeans(20, copies=1, copy_margin=0.3)
    return filing.model_of(corpus, clusters=clusters, codec=hi2.PQ(4, residual=True), refine=hi2.SQ8())


@pytest.fixture(scope="module")
def draft(corpus, model):
    documents = filing.read(
        corpus.vectors[:N],
        corpus.texts[:N],
        terms=model.terms,
        ids=corpus.ids[:N],
        payload=[{"n": i} for i in range(N)],
        keep_text=True,
    )
    return draft_of(model, documents, threads=1, progress=filing.SILENT)


def written(model, draft):
    sink = MemorySink()
    return Segment(model, write_segment(sink, model, draft), sink.arrays)


def test_every_posting_is_in_its_list(model, draft):
    segment = written(model, draft)
    for own, lists in ((draft.terms, segment.native.term_postings()), (draft.copies, segment.native.copy_postings())):
        keys, docs, ranks = lists
        found = sorted(zip(keys.tolist(), segment.rows[docs].tolist(), ranks.tolist(), strict=True))
        assert found == sorted(zip(own.keys.tolist(), own.rows.tolist(), own.ranks.tolist(), strict=True))
    assert segment.meta.n_term_lists == len(np.unique(draft.terms.keys))
    assert segment.meta.n_copy_lists == len(np.unique(draft.copies.keys)) > 0
    assert segment.meta.n_runs == len(np.unique(draft.labels))


def test_codes_are_in_the_order_of_documents(model, draft):
    segment = written(model, draft)
    np.testing.assert_array_equal(segment.labels(), draft.labels[segment.rows])
    np.testing.assert_array_equal(segment.arrays["codes.npy"], draft.codes(segment.rows))
    np.testing.assert_array_equal(segment.arrays["refine_codes.npy"], draft.refine_codes(segment.rows))


def test_documents_are_listed_by_id(model, draft, corpus):
    segment = written(model, draft)
    docs = _native.unpack(segment.arrays["by_id.npy"], width(N - 1), N).astype(np.int64)
    assert [corpus.ids[row] for row in segment.rows[docs]] == sorted(corpus.ids[:N])


def test_blocks_of_any_size_and_any_sink_give_the_same_bytes(model, draft, tmp_path, monkeypatch):
    whole = written(model, draft)
    monkeypatch.setattr(segment_writer, "_DOCS_PER_BLOCK", 7)
    monkeypatch.setattr(segment_writer, "_LINES_PER_BLOCK", 3)
    steps = []
    sink = FolderSink(Folder.open(tmp_path))
    meta = write_segment(sink, model, draft, steps.append)
    assert meta == whole.meta
    assert sum(steps) == 2 * N  # codes and refine codes
    assert set(sink.entries) == set(whole.arrays)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(map_file(sink.folder, name, sink.entries[name]), array)


def test_sides_that_a_model_lacks_have_no_arrays(corpus):
    for left_out, prefix in (("clusters", "cluster_"), ("terms", "term_")):
        model = filing.model_of(corpus, **{left_out: None})
        texts = corpus.texts[:5] if model.terms is not None else None
        segment = filing.file(model, corpus.vectors[:5], texts)
        assert not [name for name in segment.arrays if name.startswith((prefix, "copy_", "refine_", "stored"))]
    assert segment.meta.n_term_lists == segment.meta.n_copy_lists == 0


def test_a_payload_without_values_needs_no_columns(corpus):
    model = filing.model_of(corpus, terms=None)
    for payload, expected in (([{}, {}], False), ([{"a": None}, {}], False), ([{"a": 1}, {}], True)):
        segment = filing.file(model, corpus.vectors[:2], payload=payload)
        assert ("columns.json" in segment.arrays) == expected
        assert segment.keeps_documents
