"""A snapshot is segments and alive bits; each change gives another snapshot and leaves the first as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import filing
import hi2
from hi2.state.snapshot import EMPTY, LiveSegment, Place, Snapshot, row_ids, stored_documents, stored_texts

SIZES = (9, 1, 17, 6)


@pytest.fixture(scope="module")
def model(corpus):
    return filing.model_of(corpus, terms=None)


@pytest.fixture(scope="module")
def snapshot(corpus, model):
    """Segments of several sizes; ids do not rise with arrival."""
    found, begin = EMPTY, 0
    for size in SIZES:
        ids = [(i * 7) % 1000 for i in range(begin, begin + size)]
        found = found.plus(filing.file(model, corpus.vectors[begin : begin + size], ids=ids))
        begin += size
    return found


def ids_by_segment(snapshot):
    return [live.segment.id_column().as_list() for live in snapshot.segments]


DELETED = st.sets(st.integers(0, sum(SIZES) - 1))


@settings(max_examples=80, deadline=None)
@given(DELETED, DELETED)
def test_deleted_documents_are_gone_and_the_others_keep_their_order(snapshot, first, second):
    every = [id for ids in ids_by_segment(snapshot) for id in ids]
    gone: set[int] = set()
    current = snapshot
    for chosen in (first, second):
        ids = [every[i] for i in sorted(chosen - gone)]
        current = current.without([place for place in current.find(ids) if place is not None])
        gone |= chosen
    left = [id for i, id in enumerate(every) if i not in gone]
    assert current.ids() == left
    assert current.n_alive == len(left)
    assert [place is not None for place in current.find(every)] == [i not in gone for i in range(len(every))]
    assert all(live.n_alive for live in current.segments)  # segments that become empty are dropped
    assert snapshot.ids() == every


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SIZES) - 1), st.integers(1, len(SIZES)), DELETED, DELETED)
def test_a_merged_segment_takes_the_place_of_its_sources(corpus, model, snapshot, begin, length, before, meanwhile):
    """What was deleted before the merge is not in it; what is deleted while it is written is deleted from it."""
    every = [id for ids in ids_by_segment(snapshot) for id in ids]

    def without(current, chosen):
        places = current.find([every[i] for i in sorted(chosen)])
        return current.without([place for place in places if place is not None])

    read = without(snapshot, before)
    sources = read.segments[begin : begin + length]
    if not sources:
        return
    ids = Snapshot(sources).ids()
    merged = filing.file(model, corpus.vectors[: len(ids)], ids=ids)
    now = without(read, meanwhile)
    after = now.with_merged(sources, merged)
    if not {live.segment for live in sources} <= {live.segment for live in now.segments}:
        assert after is None  # one of them has become empty
        return
    assert after.ids() == now.ids()
    assert after.n_alive == now.n_alive
    merged_away = {live.segment for live in sources}
    others = [live for live in now.segments if live.segment not in merged_away]
    assert [live for live in after.segments if live.segment is not merged] == others
    assert len(after.segments) == len(others) + 1


def test_a_merge_of_segments_that_were_replaced_is_of_no_use(corpus, model, snapshot):
    merged = filing.file(model, corpus.vectors[:7], ids=list(range(2000, 2007)))
    after = snapshot.with_merged(snapshot.segments[1:3], merged)
    for sources in (snapshot.segments[:2], snapshot.segments[2:4], snapshot.segments[1:3]):
        assert after.with_merged(sources, merged) is None


def test_places_point_at_living_documents(snapshot):
    ids = ids_by_segment(snapshot)
    places = snapshot.find([ids[2][5], ids[0][0], 999_999])
    assert places[2] is None
    for place, segment, id in ((places[0], 2, ids[2][5]), (places[1], 0, ids[0][0])):
        assert place.segment == segment
        live = snapshot.segments[segment]
        assert live.segment.take_ids(np.array([live.segment.row_of(place.doc)], np.uint32)) == [id]
        assert live.has(place.doc)
    assert snapshot.has(ids[3][0])
    assert snapshot.has(np.int32(ids[3][0]))
    for other in ("0", True, 999_999, None, 0.0):
        assert not snapshot.has(other)


def test_an_id_that_was_deleted_and_added_again_is_found_in_its_new_segment(corpus, model, snapshot):
    id = ids_by_segment(snapshot)[0][3]
    gone = snapshot.without(snapshot.find([id]))
    again = gone.plus(filing.file(model, corpus.vectors[0], ids=[id]))
    assert again.find([id]) == [Place(len(SIZES), 0)]
    assert again.ids()[-1] == id


def test_alive_bits_belong_to_one_live_segment(snapshot):
    whole = snapshot.segments[0]
    part = whole.without([0, 4])
    assert whole.alive is None
    assert (whole.n_alive, part.n_alive) == (9, 7)
    assert part.flags().tolist() == [doc not in (0, 4) for doc in range(9)]
    assert [part.has(doc) for doc in range(9)] == part.flags().tolist()
    assert part.segment is whole.segment
    assert part.without([1]).n_alive == 6
    assert Snapshot((part,)).native[0][1] is part.alive


def test_an_empty_snapshot_has_no_kind_of_ids():
    assert EMPTY.id_kind is None
    assert (EMPTY.n_alive, EMPTY.ids(), EMPTY.find([1])) == (0, [], [None])
    assert not EMPTY.has(1)


def test_ids_of_hits_are_read_from_their_segments(snapshot):
    ids = ids_by_segment(snapshot)
    segments, rows = np.array([2, 0, 2, 3]), np.array([16, 8, 0, 5])
    assert row_ids(snapshot, segments, rows) == [ids[s][r] for s, r in zip(segments, rows, strict=True)]
    alone = Snapshot(snapshot.segments[:1])
    assert row_ids(alone, np.zeros(2, int), np.array([8, 1])) == [ids[0][8], ids[0][1]]


def test_stored_documents_are_returned_with_their_ids(corpus, model):
    with_text = filing.file(model, corpus.vectors[:3], corpus.texts[:3], ids=["a", "b", "c"], keep_text=True)
    with_payload = filing.file(model, corpus.vectors[:1], ids=["d"], payload=[{"x": 1}])
    bare = filing.file(model, corpus.vectors[:1], ids=["e"])
    snapshot = Snapshot(tuple(LiveSegment(segment) for segment in (with_text, with_payload, bare)))
    assert stored_documents(snapshot, ["e", "c", "d"]) == [
        {"id": "e"},
        {"id": "c", "text": corpus.texts[2]},
        {"id": "d", "payload": {"x": 1}},
    ]
    with pytest.raises(hi2.InvalidParameter, match="'nobody'"):
        stored_documents(snapshot, ["a", "nobody"])
    assert stored_texts(Snapshot(snapshot.segments[:1])) == corpus.texts[:3]
    with pytest.raises(hi2.InvalidParameter, match="keeps none, or not all"):
        stored_texts(snapshot)
