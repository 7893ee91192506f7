"""Texts become bags of term counts, and weights that the caller gives become bags of weights."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import hi2
from hi2 import _native
from hi2.data import spool
from hi2.text.bags import BagCollector, Bags, count, max_score_per_term, weigh


class Csr:
    """The three arrays every CSR matrix has."""

    def __init__(self, indptr, indices, data):
        self.indptr, self.indices, self.data = np.array(indptr), np.array(indices), np.array(data)


def row(bags, i):
    begin, end = int(bags.offsets[i]), int(bags.offsets[i + 1])
    return dict(zip(bags.terms[begin:end].tolist(), bags.values[begin:end].tolist(), strict=True))


def test_mappings_and_csr_give_the_same_bags(bert):
    red, blue = bert.number("red"), bert.number("blue")
    mapped = weigh(bert, [{"red": 2.0, blue: 1.0}, {}, {"blue": 0.5}])
    matrix = weigh(bert, Csr([0, 2, 2, 3], [blue, red, blue], [1.0, 2.0, 0.5]))
    for bags in (mapped, matrix):
        assert [row(bags, i) for i in range(3)] == [{red: 2.0, blue: 1.0}, {}, {blue: 0.5}]


def test_keywords_outside_the_vocabulary_are_tokenized(bert):
    bags = weigh(bert, [{"machine learning": 3.0, "learning": 1.0}])
    assert row(bags, 0) == {bert.number("machine"): 3.0, bert.number("learning"): 3.0}


def test_special_tokens_and_weights_that_are_not_positive_are_left_out(bert):
    red = bert.number("red")
    assert row(weigh(bert, [{"red": 0.0, "blue": -1.0, "[CLS]": 5.0}]), 0) == {}
    assert row(weigh(bert, Csr([0, 3], [red, red, 101], [1.0, 4.0, 9.0])), 0) == {red: 4.0}


@pytest.mark.parametrize(
    "bad",
    [
        Csr([1, 2], [5], [1.0]),
        Csr([0, 2], [5], [1.0]),
        Csr([0, 1, 0, 1], [5], [1.0]),
        Csr(np.array([0, 1, 0, 1], np.uint64), [5], [1.0]),
        Csr(np.array([0, 2**64 - 1, 1], np.uint64), [5], [1.0]),
        Csr([0, -1, 1], [5], [1.0]),
        Csr([], [], []),
        Csr(0, [], []),
        Csr([[0, 1]], [5], [1.0]),
        Csr([0.0, 1.0], [5], [1.0]),
        Csr(["a", "b"], [5], [1.0]),
        Csr([0, 1], [40_000], [1.0]),
        Csr([0, 1], [-1], [1.0]),
        Csr([0, 1], [5.0], [1.0]),
        Csr([0, 1], [[5]], [1.0]),
        Csr([0, 1], [None], [1.0]),
        Csr([0, 1], [2**63], [1.0]),
        Csr([0, 1], [5], [np.nan]),
        Csr([0, 1], [5], [np.inf]),
        Csr([0, 1], [5], [1e31]),
        Csr([0, 1], [5], [-(10**40)]),
        Csr([0, 1], [5], ["1"]),
        Csr([0, 1], [5], [None]),
        Csr([0, 1], [5], [1j]),
        Csr([0, 1], [5], [[1.0]]),
        Csr([0, 1], [5], 1.0),
        Csr([0, 1], [5], []),
        Csr([0, 1], [5], [1.0, 2.0]),
    ],
    ids=lambda own: repr((own.indptr.tolist(), own.indices.tolist(), own.data.tolist())),
)
@pytest.mark.filterwarnings("error")
def test_an_invalid_csr_matrix_is_refused(bert, bad):
    with pytest.raises(hi2.InvalidParameter, match="'term_weights'"):
        weigh(bert, bad)


def test_matrices_of_other_kinds_give_the_same_bags(bert):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(([1.0, 2.0, 0.5], ([0, 0, 2], [8, 5, 5])), shape=(3, bert.n_terms))
    expected = [{8: 1.0, 5: 2.0}, {}, {5: 0.5}]
    expected = [{term: weight for term, weight in own.items() if not bert.dropped[term]} for own in expected]
    for kind in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        bags = weigh(bert, matrix.asformat(kind))
        assert [row(bags, i) for i in range(3)] == expected, kind
    whole = weigh(bert, matrix.astype(bool))
    assert len(whole) == 3


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (5, "one mapping per document"),
        (None, "one mapping per document"),
        ({"red": 1.0}, "a single mapping"),
        ("red", "a single string"),
        (np.ones((2, 3)), "one mapping per document.*row 0"),
        (np.array(3), "one mapping per document"),
        ([{"red": 10**400}], "finite numbers.*row 0"),
        ([{"red": "much"}], "finite numbers.*row 0"),
        ([{"red": None}], "finite numbers"),
        ([{}, {"\ud800": 1.0}], "valid Unicode.*row 1"),
        ([{10**5000: 1.0}], "below 30522"),
        ([{None: 1.0}], "below 30522"),
    ],
)
def test_weights_that_are_none_are_refused(bert, bad, said):
    with pytest.raises(hi2.InvalidParameter, match=rf"'term_weights'.*{said}"):
        weigh(bert, bad)


def test_the_number_of_threads_does_not_change_the_result():
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 5000))]).astype(np.uint64)
    tokens = rng.integers(0, 50, int(offsets[-1])).astype(np.uint32)
    dropped = (np.arange(50) < 3).astype(np.uint8)
    one, many = (_native.count_terms(tokens, offsets, dropped, threads) for threads in (1, 5))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)
    rows = [np.unique(tokens[int(a) : int(b)][dropped[tokens[int(a) : int(b)]] == 0]) for a, b in pairwise(offsets)]
    np.testing.assert_array_equal(one[1], np.concatenate(rows))
    scores, limits = rng.random(len(one[1])).astype(np.float32), rng.integers(0, 4, 5000).astype(np.uint32)
    for a, b in zip(
        _native.top_terms(one[0], one[1], scores, limits, 1),
        _native.top_terms(one[0], one[1], scores, limits, 7),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_counts_are_of_terms_and_lengths_include_repeats(bert):
    texts = ["red blue red [SEP]", "", "blue"]
    bags = count(bert, texts)
    for i, text in enumerate(texts):
        assert row(bags, i) == Counter(bert.number(token) for token in bert.tokens(text))
    assert bags.lengths.tolist() == [3, 0, 1]
    assert count(bert, texts, max_tokens=2).lengths.tolist() == [2, 0, 1]


def test_a_part_of_bags_is_bags_of_those_rows(bert):
    bags = count(bert, ["one", "two two", "", "three four"])
    for begin, end in [(0, 4), (1, 3), (2, 2), (3, 4)]:
        part = bags.part(begin, end)
        assert len(part) == end - begin
        assert part.offsets[0] == 0
        assert [row(part, i) for i in range(len(part))] == [row(bags, i) for i in range(begin, end)]
        assert part.lengths.tolist() == bags.lengths[begin:end].tolist()


def test_bags_collected_in_batches_equal_bags_of_all_texts(bert, corpus, monkeypatch):
    monkeypatch.setattr(spool, "SPILL_BYTES", 1000)
    collector = BagCollector()
    for begin in range(0, 100, 30):
        collector.add(count(bert, corpus.texts[begin : min(begin + 30, 100)]))
    collected, whole = collector.finish(), count(bert, corpus.texts[:100])
    for name in ("offsets", "terms", "values", "lengths"):
        np.testing.assert_array_equal(getattr(collected, name), getattr(whole, name))
    assert len(BagCollector(np.float32).finish()) == 0


def test_a_term_gets_the_highest_score_of_its_tokens():
    tokens, scores = np.array([3, 1, 3, 2, 0, 1]), np.array([1, 0, 5, -1, 9, 2], np.float32)
    dropped = np.array([1, 0, 0, 0], np.uint8)
    bags = max_score_per_term(tokens, np.array([4, 0, 2]), scores, dropped)
    assert [row(bags, i) for i in range(3)] == [{3: 5.0}, {}, {1: 2.0}]
    assert bags.lengths.tolist() == [4, 0, 1]  # tokens that are terms, also those without a score


def test_terms_beyond_a_number_can_be_left_out():
    bags = Bags(
        np.array([0, 2, 2, 5], np.uint64), np.uint32([1, 7, 0, 3, 9]), np.uint32([1, 2, 3, 4, 5]), np.uint32([3, 0, 12])
    )
    some = bags.below(7)
    assert (some.offsets.tolist(), some.terms.tolist(), some.values.tolist()) == ([0, 1, 1, 3], [1, 0, 3], [1, 3, 4])
    assert some.lengths is bags.lengths
    assert bags.below(10) is bags
