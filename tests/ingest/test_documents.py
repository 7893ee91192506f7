"""New documents are read once and checked against each other."""

from __future__ import annotations

import numpy as np
import pytest

import hi2


def test_running_out_of_integer_ids_is_an_error(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:2], corpus.texts[:2], ids=[5, 2**63 - 1])
    with pytest.raises(hi2.InvalidParameter, match=r"'ids'.*used up"):
        index.add(corpus.vectors[:1], corpus.texts[:1])


def test_tokenizing_once_gives_the_same_index(corpus):
    static = hi2.StaticEncoder()
    once = hi2.HybridIndex.build(texts=corpus.texts, encoder=static)
    apart = hi2.HybridIndex.build(static(corpus.texts), corpus.texts)
    for name, array in once._index.state.snapshot.segments[0].segment.arrays.items():
        np.testing.assert_array_equal(array, apart._index.state.snapshot.segments[0].segment.arrays[name])
