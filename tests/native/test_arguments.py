"""Native functions check their arguments: none crashes the interpreter."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2 import _native

arrays = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.binary(max_size=8),
    st.tuples(
        st.sampled_from(["u1", "u4", "u8", "i8", "f4", "f8"]), st.lists(st.integers(0, 5), min_size=0, max_size=3)
    ).map(lambda p: np.arange(int(np.prod(p[1])), dtype=p[0]).reshape(p[1])),
)


#: How many arguments some functions take.
N_ARGUMENTS = {
    **{"pack": 2, "unpack": 3, "encode_lists": 5, "nearest": 4, "count_terms": 3, "top_terms": 4, "sort_strings": 2},
    **{"encode_bags": 5, "Evidence": 7, "query_terms": 5},
}


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(list(N_ARGUMENTS)),
    st.data(),
)
def test_native_functions_check_their_arguments(name, data):
    function = getattr(_native, name)
    with contextlib.suppress(TypeError, ValueError, hi2.FormatError):
        function(*(data.draw(arrays) for _ in range(N_ARGUMENTS[name])))


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)


def test_native_search_checks_its_arguments(index, corpus):
    model, segment = index.model.native, index._index.state.snapshot.segments[0].segment.native
    queries, none = corpus.query_vectors[:2], np.zeros(0, np.uint32)
    offsets = np.zeros(3, np.uint64)
    numbers = {"k": 5, "clusters": 1, "terms": 1, "per_doc": 1, "depth": 0}
    good = (model, [(segment, None)], queries, offsets, none, _native.Effort(**numbers), 1)
    assert [len(part) for part in _native.search(*good)] == [2] * 6 + [0, 0]
    by_words = _native.Effort(**numbers, lexical=0.5, words_depth=128)
    words = (*good[:5], by_words, 1, np.array([0, 2, 3], np.uint64), np.array([1, 2, 2], np.uint32))
    assert [part.shape for part in _native.search(*words)[6:]] == [(2, 5)] * 2
    for place, bad in [
        (2, queries[:, :5].copy()),
        (3, np.array([0, 5, 0], np.uint64)),
        (3, np.array([0, 0, 9], np.uint64)),
        (3, np.zeros(2, np.uint64)),
        (5, None),
        (5, 5),
        (1, [(segment, np.zeros(1, np.uint8))]),
        (1, [(3, None)]),
        (1, [segment]),
        (7, np.array([0, 5, 0], np.uint64)),
        (7, np.zeros(2, np.uint64)),
        (8, np.zeros(1, np.float32)),
    ]:
        arguments = list(words)
        arguments[place] = bad
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.search(*arguments)
    benefit = np.zeros(7, np.float32)
    effort = _native.Effort(**numbers, benefit=benefit, cut=-1.0, budget=10)
    weighed = (model, [(segment, None)], queries[0].copy(), none, effort)
    assert len(_native.admission(*weighed)[0]) > 0
    for place, bad in [(2, queries[0, :5].copy()), (1, [segment]), (3, "words"), (4, _native.Effort(**numbers))]:
        arguments = list(weighed)
        arguments[place] = bad
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.admission(*arguments)
    for bad in [
        {"k": 0},
        *({name: -1} for name in numbers),
        {"benefit": np.zeros(6, np.float32)},
        {"benefit": np.full(7, np.nan, np.float32)},
        {"benefit": benefit, "cut": float("nan")},
        {"benefit": benefit, "budget": -1},
        {"cut": -1.0},
        {"budget": 10},
        {"lexical": -1.0},
        {"lexical": float("nan")},
        {"lexical": float("inf")},
        {"words_depth": -1},
    ]:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.Effort(**{**numbers, **bad})
    with pytest.raises(TypeError):
        _native.Effort(k=5)
    with pytest.raises(ValueError, match="dimension"):
        model.probe_together(queries[:, :5].copy(), 3)
    with pytest.raises(ValueError, match="does not exist"):
        _native.score(model, segment, queries[0].copy(), False, np.array([10**6], np.uint32))
    with pytest.raises(ValueError, match="no refine store"):
        _native.score(model, segment, queries[0].copy(), True, np.array([0], np.uint32))
    other = hi2.HybridIndex.build(corpus.vectors[:9], terms=None, codec=hi2.PQ(5)).model.native
    with pytest.raises(ValueError, match="not this codec's"):
        _native.search(other, *good[1:])
