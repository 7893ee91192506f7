"""Compressed posting lists return the documents and ranks that were encoded, and are small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2 import _native


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
