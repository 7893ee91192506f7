"""A merged segment is that of its living documents, in order of arrival."""

from __future__ import annotations

import numpy as np
import pytest

import filing
import hi2
from hi2.ingest.new_segment import merge_live, segment_in_memory
from hi2.state.snapshot import EMPTY


@pytest.fixture(scope="module", params=["everything", "bare"])
def filed(request, corpus):
    """A model, a snapshot of several segments with deleted documents, and how its documents are filed."""
    everything = request.param == "everything"
    if everything:
        model = filing.model_of(
            corpus, clusters=hi2.KMeans(9, copies=1), codec=hi2.PQ(4, residual=True), refine=hi2.Half()
        )
    else:
        model = filing.model_of(corpus, terms=None, clusters=None)

    def file(rows):
        more = {}
        if everything:
            more = {"texts": [corpus.texts[i] for i in rows], "keep_text": True, "payload": [{"n": i} for i in rows]}
        return filing.file(model, corpus.vectors[rows], ids=[corpus.ids[i] for i in rows], **more)

    snapshot = EMPTY
    for begin, end in ((0, 30), (30, 31), (31, 60)):
        snapshot = snapshot.plus(file(list(range(begin, end))))
    gone = set(range(0, 60, 7)) | {30}
    snapshot = snapshot.without(snapshot.find([corpus.ids[i] for i in sorted(gone)]))
    return model, snapshot, file([i for i in range(60) if i not in gone])


def test_a_merge_equals_one_segment_of_the_living_documents(filed):
    """The segment whose only document was deleted is gone; the others keep their order."""
    model, snapshot, expected = filed
    assert len(snapshot.segments) == 2
    merged = segment_in_memory(model, merge_live(model, snapshot.segments))
    assert merged.meta == expected.meta
    assert set(merged.arrays) == set(expected.arrays)
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(merged.arrays[name], array)


def test_documents_without_stored_text_are_merged_with_those_that_have_it(corpus):
    model = filing.model_of(corpus, terms=None)
    bare = filing.file(model, corpus.vectors[:2], ids=["a", "b"])
    full = filing.file(model, corpus.vectors[2:4], ids=["c", "d"], payload=[{"x": 1}, {"x": 2}])
    merged = segment_in_memory(model, merge_live(model, EMPTY.plus(bare).plus(full).segments))
    assert merged.id_column().as_list() == ["a", "b", "c", "d"]
    assert [merged.stored(row) for row in range(4)] == [{}, {}, {"payload": {"x": 1}}, {"payload": {"x": 2}}]
    assert merged.columns.by_name["x"].known()[np.argsort(merged.rows)].tolist() == [False, False, True, True]


def test_what_was_pruned_is_added_up(corpus):
    model = filing.model_of(corpus, terms=hi2.BM25(per_doc=5, gamma=0.9))
    segments = [filing.file(model, corpus.vectors[a:b], corpus.texts[a:b], first_id=a) for a, b in ((0, 50), (50, 99))]
    snapshot = EMPTY.plus(segments[0]).plus(segments[1])
    merged = segment_in_memory(model, merge_live(model, snapshot.segments)).meta
    assert merged.pruned_lists == sum(one.meta.pruned_lists for one in segments) > 0
    assert merged.pruned_postings == sum(one.meta.pruned_postings for one in segments) > 0
