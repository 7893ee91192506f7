"""numpy can read the files, and packed arrays and posting lists return what was written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hi2
from hi2 import _native
from hi2.data import spool
from hi2.store.arrays import map_file, npy_header, write_file


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.dtype(t) for t in ("u1", "<u2", "<u4", "<u8", "<i8", "<f4")]),
        hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9),
    )
)
def test_numpy_reads_what_is_written(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("arrays") / "a.npy"
    entry = write_file(path, array.dtype, array.shape, [array])
    np.testing.assert_array_equal(np.load(path, allow_pickle=False), array)
    assert path.stat().st_size == entry.bytes
    for mmap in (True, False):
        np.testing.assert_array_equal(map_file(path, entry, mmap=mmap), array)


def test_a_spool_that_spills_to_disk_returns_everything(monkeypatch):
    monkeypatch.setattr(spool, "SPILL_BYTES", 100)
    parts = [np.arange(n, dtype=np.float32).reshape(-1, 2) for n in (2, 60, 4, 80, 2)]
    store = spool.Spool(np.float32, width=2)
    for part in parts:
        store.append(part)
    np.testing.assert_array_equal(store.finish(), np.concatenate(parts))
    spool.Spool(np.float32).append(np.zeros(1000))  # a spool that is garbage collected closes its file


def test_data_begins_at_a_multiple_of_64_bytes():
    for shape in [(1,), (10**9, 384), (7, 3)]:
        assert len(npy_header(np.float32, shape)) % 64 == 0


def test_every_array_of_an_index_opens_with_numpy_alone(corpus, tmp_path):
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, keep_text=True).save(tmp_path / "a")
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    for part in (manifest["model"], *manifest["segments"]):
        for name, entry in part["files"].items():
            path = tmp_path / "a" / part["folder"] / name
            if path.suffix == ".npy":
                array = np.load(path, mmap_mode="r", allow_pickle=False)
                assert list(array.shape) == entry["shape"]
                assert array.dtype.str == entry["dtype"]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 57), st.lists(st.integers(0, 2**57 - 1), max_size=50))
def test_unpacking_returns_the_packed_values(bits, values):
    array = np.array([value % (1 << bits) for value in values], np.uint64)
    packed = _native.pack(array, bits)
    assert len(packed) == (len(array) * bits + 7) // 8 + _native.PADDING
    np.testing.assert_array_equal(_native.unpack(packed, bits, len(array)), array)


def test_a_value_that_does_not_fit_is_rejected():
    with pytest.raises(ValueError, match="more bits"):
        _native.pack(np.array([8], np.uint64), 3)
    with pytest.raises(ValueError, match="as long as"):
        _native.unpack(np.zeros(9, np.uint8), 3, 100)


def lists_in_a_segment(postings, universe, n_keys, rank_bits):
    """Encode postings into a segment; lists can only be read through one."""
    keys, docs, ranks = (np.array([p[i] for p in postings], np.uint32) for i in range(3))
    found, offsets, blob = _native.encode_lists(keys, docs, ranks, universe, rank_bits)
    key_bits, offset_bits = max(1, (n_keys - 1).bit_length()), max(1, (len(blob) - 8).bit_length())
    directory = (_native.pack(found, key_bits), key_bits, _native.pack(offsets, offset_bits), offset_bits, len(found))
    row_bits = max(1, (universe - 1).bit_length())
    rows = _native.pack(np.arange(universe, dtype=np.uint64), row_bits)
    codes = np.zeros((universe, 1), np.uint8)
    return _native.Segment(universe, codes, None, rows, row_bits, 0, None, None, n_keys, (directory, blob, rank_bits))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_posting_lists_keep_documents_and_ranks(data):
    universe = data.draw(st.integers(1, 3000))
    n_keys, rank_bits = data.draw(st.integers(1, 40)), data.draw(st.integers(0, 8))
    pairs = data.draw(st.sets(st.tuples(st.integers(0, n_keys - 1), st.integers(0, universe - 1)), max_size=300))
    dense = data.draw(st.booleans())
    if dense:
        pairs |= {(0, doc) for doc in range(universe)}
    postings = [(key, doc, (key * 7 + doc) % (1 << rank_bits)) for key, doc in sorted(pairs)]
    segment = lists_in_a_segment(postings, universe, n_keys, rank_bits)
    keys, docs, ranks = segment.term_postings()
    assert list(zip(keys.tolist(), docs.tolist(), ranks.tolist(), strict=True)) == postings
    for key in range(n_keys):
        own, own_ranks = segment.term_list(key)
        assert list(zip(own.tolist(), own_ranks.tolist(), strict=True)) == [p[1:] for p in postings if p[0] == key]


def test_lists_are_about_as_small_as_elias_fano_predicts():
    rng = np.random.default_rng(0)
    universe, n = 1 << 20, 5000
    docs = np.sort(rng.choice(universe, n, replace=False)).astype(np.uint32)
    _, _, blob = _native.encode_lists(np.zeros(n, np.uint32), docs, np.zeros(n, np.uint32), universe, 4)
    bits = 8 * (len(blob) - _native.PADDING) / n
    assert bits < 4 + 2 + np.log2(universe / n) + 0.1


@pytest.mark.parametrize(
    ("keys", "docs"),
    [([1, 0], [0, 0]), ([0, 0], [1, 1]), ([0, 0], [2, 1]), ([0], [10])],
    ids=["keys fall", "twice", "docs fall", "outside"],
)
def test_postings_out_of_order_are_rejected(keys, docs):
    zeros = np.zeros(len(keys), np.uint32)
    with pytest.raises(ValueError, match=r"rise|outside"):
        _native.encode_lists(np.array(keys, np.uint32), np.array(docs, np.uint32), zeros, 10, 0)
