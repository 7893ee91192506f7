"""Compressed bags return the terms, counts and lengths that were encoded, and are searched as plain Python would."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2 import _native

NONE = np.zeros(0, np.uint32)


def flat(bags):
    """Bags as arrays: a bag is (counts by rank, length)."""
    offsets = np.cumsum([0, *(len(counts) for counts, _ in bags)]).astype(np.uint64)
    ranks = np.array([rank for counts, _ in bags for rank in counts], np.uint32)
    counts = np.array([count for counts, _ in bags for count in counts.values()], np.uint32)
    return offsets, ranks, counts, np.array([length for _, length in bags], np.uint32)


def segment_of(bags, n_terms, change=lambda blob: None):
    """A segment that holds nothing but bags."""
    n = len(bags)
    sizes, data = _native.encode_bags(*flat(bags), n_terms)
    blob = np.append(data, np.zeros(_native.PADDING, np.uint8))
    change(blob)
    bits = max(1, len(data).bit_length())
    offsets = _native.pack(np.append(np.uint64(0), np.cumsum(sizes)).astype(np.uint64), bits)
    row_bits = max(1, (n - 1).bit_length())
    rows = _native.pack(np.arange(n, dtype=np.uint64), row_bits)
    codes = np.zeros((n, 1), np.uint8)
    return _native.Segment(n, codes, None, rows, row_bits, 0, None, None, n_terms, None, bags=(offsets, bits, blob))


def evidence_of(df, *, unit=0.0, means=None, n_docs=100, average=7.5, alpha=0.82, beta=0.68):
    """Statistics of terms; terms are their own ranks where df falls."""
    weights = np.zeros(0, np.float32) if means is None else np.array(means, np.float32)
    return _native.Evidence(np.array(df, np.uint32), weights, n_docs, average, alpha, beta, unit)


N_TERMS = st.sampled_from([1, 2, 9, 70, 300, 5000, 1 << 17, 1 << 24])
COUNTS = st.one_of(st.just(1), st.integers(1, 20), st.integers(1, 2**31 - 1))


@st.composite
def collections(draw):
    n_terms = draw(N_TERMS)
    ranks = st.one_of(st.integers(0, min(n_terms, 40) - 1), st.integers(0, n_terms - 1))
    bag = st.tuples(st.dictionaries(ranks, COUNTS, max_size=60), st.integers(0, 2**32 - 1))
    return n_terms, draw(st.lists(bag, min_size=1, max_size=8))


@settings(max_examples=150, deadline=None)
@given(collections())
def test_bags_keep_terms_counts_and_lengths(collection):
    n_terms, bags = collection
    segment = segment_of(bags, n_terms)
    docs = np.array([*range(len(bags)), 0], np.uint32)
    offsets, ranks, counts, lengths = segment.bags(docs)
    for place, doc in enumerate(docs):
        own = slice(int(offsets[place]), int(offsets[place + 1]))
        assert dict(zip(ranks[own].tolist(), counts[own].tolist(), strict=True)) == bags[doc][0]
        assert ranks[own].tolist() == sorted(bags[doc][0])
        assert lengths[place] == bags[doc][1]


@settings(max_examples=150, deadline=None)
@given(collections(), st.data())
def test_words_are_worth_what_the_formula_says(collection, data):
    """Counts of many words at once, found or not, by BM25 and by weights."""
    n_terms, bags = collection
    segment = segment_of(bags, n_terms)
    known = sorted({rank for counts, _ in bags for rank in counts})
    other = st.integers(0, 2 * n_terms)
    words = data.draw(st.lists(st.sampled_from(known) | other if known else other, unique=True, max_size=150))
    docs = np.arange(len(bags), dtype=np.uint32)
    n_fitted = min(n_terms, 50)
    df = np.arange(n_fitted, 0, -1)
    found = segment.word_scores(evidence_of(df), np.array(words, np.uint32), docs)
    weighed = evidence_of(df, unit=0.25, means=np.ones(n_fitted))
    units = segment.word_scores(weighed, np.array(words, np.uint32), docs)
    assert found.shape == units.shape == (len(bags), len(words))
    for doc, (counts, length) in enumerate(bags):
        norm = 0.82 * (1 - 0.68 + 0.68 * length / 7.5)
        for place, word in enumerate(words):
            n = counts.get(word, 0)
            own = df[word] if word < n_fitted else 0
            idf = math.log1p((100 - own + 0.5) / (own + 0.5))
            assert found[doc, place] == pytest.approx(1.82 * idf * n / (n + norm), rel=1e-4)
            assert units[doc, place] == pytest.approx(0.25 * n, rel=1e-6)


@settings(max_examples=100, deadline=None)
@given(collections(), st.data())
def test_documents_that_have_all_words_are_selected(collection, data):
    n_terms, bags = collection
    segment = segment_of(bags, n_terms)
    known = st.sampled_from(sorted({rank for counts, _ in bags for rank in counts}) or [0])
    words = data.draw(st.lists(known | st.integers(0, n_terms + 3), max_size=3))
    for threads in (1, 3):
        bits = segment.holding(evidence_of([]), np.array(words, np.uint32), threads)
        held = np.unpackbits(bits, count=len(bags), bitorder="little").astype(bool).tolist()
        assert held == [set(words) <= set(own) for own, _ in bags]


def test_many_words_are_required_at_once():
    every = dict.fromkeys(range(200), 1)
    segment = segment_of([(every, 200), ({**every, 7: 3}, 203), ({k: 1 for k in every if k != 150}, 199)], 300)
    required = np.arange(200, dtype=np.uint32)
    assert segment.holding(evidence_of([]), required, 1).tolist() == [0b011]
    assert segment.holding(evidence_of([]), NONE, 1).tolist() == [0b111]


def test_words_alone_rank_all_documents(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50])
    model, segments = index.model, index._index.state.snapshot.native
    words = np.array([3, 8, 5], np.uint32)
    offsets = np.array([0, 2, 2, 3], np.uint64)
    found = _native.search_words(model.evidence.native, model.native, segments, offsets, words, 4, 2)
    _, rows, scores, counts, n_scored = found
    segment = segments[0][0]
    every = np.arange(50, dtype=np.uint32)
    first = segment.word_scores(model.evidence.native, words[:2], every).sum(axis=1)
    assert scores[0, : counts[0]].tolist() == np.sort(first[first > 0])[::-1][:4].tolist()
    assert rows.shape == (3, 4)
    assert (counts[1], n_scored[1]) == (0, 0)
    assert counts[0] <= n_scored[0] <= 50
    for bad in [
        (model.evidence.native, model.native, segments, offsets, words, 0, 2),
        (model.evidence.native, model.native, segments, offsets[:2], words, 4, 2),
        (model.evidence.native, model.native, segments, offsets[::-1].copy(), words, 4, 2),
        (model.evidence.native, model.native, [segments[0][0]], offsets, words, 4, 2),
        (None, model.native, segments, offsets, words, 4, 2),
    ]:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.search_words(*bad)
    bare = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], bags=False)
    without = bare._index.state.snapshot.native
    with pytest.raises(ValueError, match="no bags"):
        _native.search_words(model.evidence.native, model.native, without, offsets, words, 4, 2)
    for call in (
        lambda segment: segment.bags(every),
        lambda segment: segment.word_scores(model.evidence.native, words, every),
        lambda segment: segment.holding(model.evidence.native, words, 1),
    ):
        with pytest.raises(ValueError, match="no bags"):
            call(without[0][0])


def test_terms_are_ranked_by_falling_frequency():
    evidence = evidence_of([2, 9, 9, 0, 4])
    assert evidence.ranks(np.arange(8, dtype=np.uint32)).tolist() == [3, 0, 1, 4, 2, 5, 6, 7]
    with pytest.raises(ValueError, match="one mean weight per term"):
        evidence_of([1, 2], unit=0.5, means=[1.0])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"ranks": [1, 1, 2]}, "a term twice"),
        ({"ranks": [1, 10, 2]}, "outside the vocabulary"),
        ({"counts": [1, 0, 1]}, "at least 1"),
        ({"counts": [1, 2**31, 1]}, "below 2"),
        ({"counts": [1, 1]}, "one count per term"),
        ({"lengths": [3]}, "one length per document"),
        ({"offsets": [0, 2, 4]}, "offsets"),
        ({"n_ranks": (1 << 24) + 1}, "at most 2"),
    ],
)
def test_bags_that_do_not_fit_are_refused(change, match):
    given = {"offsets": [0, 2, 3], "ranks": [1, 9, 2], "counts": [1, 5, 1], "lengths": [6, 1], "n_ranks": 10}
    types = {"offsets": np.uint64, "ranks": np.uint32, "counts": np.uint32, "lengths": np.uint32}

    def encode(**own):
        return _native.encode_bags(**{k: np.array(v, types[k]) if k in types else v for k, v in own.items()})

    sizes, blob = encode(**given)
    assert sizes.sum() == len(blob)
    with pytest.raises(ValueError, match=match):
        encode(**{**given, **change})


def test_a_document_that_does_not_exist_is_refused():
    segment = segment_of([({1: 1}, 1)], 5)
    outside = np.array([1], np.uint32)
    for call in (lambda: segment.bags(outside), lambda: segment.word_scores(evidence_of([]), NONE, outside)):
        with pytest.raises(ValueError, match="does not exist"):
            call()


@settings(max_examples=200, deadline=None)
@given(collections(), st.data())
def test_damaged_bags_are_refused_or_read_within_bounds(collection, data):
    n_terms, bags = collection

    def damage(blob):
        for _ in range(data.draw(st.integers(1, 4))):
            blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))

    segment = segment_of(bags, n_terms, damage)
    docs = np.arange(len(bags), dtype=np.uint32)
    words = np.array(sorted({rank for counts, _ in bags for rank in counts}), np.uint32)
    for call in (
        lambda: segment.bags(docs),
        lambda: segment.word_scores(evidence_of([]), words, docs),
        lambda: segment.holding(evidence_of([]), words, 1),
    ):
        with contextlib.suppress(hi2.FormatError):
            call()
