"""A dictionary gives every word one number, whether it is stored or new."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.text.dictionary import Dictionary

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), max_size=30)


def names(dictionary, first=0):
    """The words of a dictionary by their numbers."""
    return [dictionary.name(number) for number in range(first, len(dictionary))]


def stored(words):
    dictionary = Dictionary()
    dictionary.add(words)
    return dictionary.arrays()


@given(st.lists(WORDS, min_size=1, max_size=4), WORDS)
def test_numbers_are_places_in_order_of_addition(batches, others):
    """The judge is a dict; the dictionary is stored and read between batches."""
    expected = {}
    dictionary = Dictionary()
    for batch in batches:
        before = dictionary.copy()
        numbers = dictionary.add(batch)
        for word in batch:
            expected.setdefault(word, len(expected))
        assert numbers.tolist() == [expected[word] for word in batch]
        assert len(dictionary) == len(expected)
        assert names(dictionary, len(before)) == list(expected)[len(before) :]
        assert before.find(batch).tolist() == [n if n < len(before) else -1 for n in numbers.tolist()]
        assert dictionary.find(others).tolist() == [expected.get(word, -1) for word in others]
        dictionary = Dictionary.read(dictionary.arrays())
        dictionary.check()
        assert len(dictionary) == len(expected)
        assert dictionary.lines_after(len(dictionary)) == b""
        assert dictionary.find(others).tolist() == [expected.get(word, -1) for word in others]
    assert names(dictionary) == list(expected)


def test_a_full_dictionary_gives_no_more_numbers():
    for dictionary in (Dictionary(limit=2), Dictionary.read(stored(["one"]))):
        dictionary.limit = 2
        assert dictionary.add(["one", "two", "three", "two"]).tolist() == [0, 1, -1, 1]
        assert dictionary.copy().add(["four"]).tolist() == [-1]
        assert len(dictionary) == 2


def test_a_copy_grows_on_its_own():
    one = Dictionary.read(stored(["a"]))
    one.add(["b"])
    two = one.copy()
    assert (one.add(["c"]).tolist(), two.add(["d", "c"]).tolist()) == ([2], [2, 3])
    assert (names(one, 1), names(two, 1)) == (["b", "c"], ["b", "d", "c"])


@pytest.mark.parametrize("base", [[], ["a", "ü"]])
def test_added_words_are_read_again_from_their_lines(base):
    one = Dictionary.read(stored(base)) if base else Dictionary()
    assert one.lines_after(len(one)) == b""
    one.add(["b", "東京"])
    first = one.lines_after(len(base))
    one.add(["c"])
    assert (first, one.lines_after(len(base))) == ("b\n東京\n".encode(), "b\n東京\nc\n".encode())
    two = Dictionary.read(stored(base)) if base else Dictionary()
    two.add_lines(one.lines_after(len(base)))
    assert names(two) == names(one) == [*base, "b", "東京", "c"]
    assert two.find(["c", "d"]).tolist() == [len(base) + 2, -1]


@pytest.mark.parametrize("lines", [b"c", b"c\n\nd\n", b"c\nc\n", b"a\n", b"\xff\n", b"\n"])
def test_lines_that_are_not_new_words_are_damaged(lines):
    with pytest.raises(hi2.FormatError, match="added word"):
        Dictionary.read(stored(["a"])).add_lines(lines)


def test_opening_does_not_build_a_dict_of_the_words():
    arrays = stored([f"word{i}" for i in range(50_000)])
    tracemalloc.start()
    dictionary = Dictionary.read(arrays)
    assert dictionary.find(["word49999", "none"]).tolist() == [49_999, -1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_memory_maps_that_cannot_be_written_are_read():
    arrays = stored(["one", "two", "three"])
    for array in arrays.values():
        array.flags.writeable = False
    dictionary = Dictionary.read(arrays)
    assert dictionary.find(["three"]).tolist() == [2]
    assert dictionary.arrays()["word_order.npy"] is arrays["word_order.npy"]


def test_threads_never_give_one_number_to_two_words():
    dictionary = Dictionary()
    batches = [[f"{thread}-{i}" for i in range(3000)] + [f"all-{i}" for i in range(3000)] for thread in range(4)]

    def add(batch):
        for begin in range(0, len(batch), 7):
            dictionary.add(batch[begin : begin + 7])

    threads = [threading.Thread(target=add, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = sorted({word for batch in batches for word in batch})
    assert sorted(dictionary.find(words).tolist()) == list(range(15_000))
    assert [dictionary.name(int(n)) for n in dictionary.find(words)] == words


def damaged(**changes):
    arrays = stored([f"word{i}" for i in range(100)])
    return arrays | {f"word_{name}.npy": change(arrays[f"word_{name}.npy"].copy()) for name, change in changes.items()}


def with_value(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({}, "no array 'word_lengths.npy'"),
        (damaged(lengths=lambda a: a.astype(np.int64)), "word_lengths.npy is an array of int64"),
        (damaged(characters=lambda a: a.reshape(-1, 1)), "word_characters.npy is an array"),
        (damaged(lengths=lambda a: a[:-1]), "damaged"),
        (damaged(positions=lambda a: a[:-1]), "one position per block"),
        (damaged(order=lambda a: a[:-1]), "packed array"),
        (damaged(characters=lambda a: a[:-1]), "do not add up"),
        (damaged(positions=with_value(-1, 2**63)), "do not add up"),
        (damaged(lengths=lambda a: np.zeros((1 << 24) + 1, np.uint8)), "more than 16777216"),
    ],
)
def test_arrays_that_do_not_fit_are_found_when_they_are_read(arrays, match):
    with pytest.raises(hi2.FormatError, match=match):
        Dictionary.read(arrays)


def with_order(order):
    from hi2 import _native

    return lambda _: _native.pack(np.array(order, np.uint64), 7)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        (damaged(lengths=with_value(0, 9)), "do not add up"),
        (damaged(positions=with_value(0, 3)), "word_positions.npy"),
        (damaged(characters=with_value(2, 0xFF)), "not valid UTF-8"),
        (damaged(characters=with_value(4, ord("1"))), "there twice"),
        (damaged(order=with_order(range(100))), "not sorted"),
        (damaged(order=with_order([0] * 100)), "not sorted"),
        (damaged(order=with_order([*range(99), 120])), "does not exist"),
        (damaged(lengths=lambda a: with_value(0, 0)(with_value(1, 10)(a))), "a word is empty"),
    ],
)
def test_damaged_words_are_found_by_a_check_and_harm_nothing_before(arrays, match):
    dictionary = Dictionary.read(arrays)
    for word in ("word0", "word50", "other"):
        try:
            assert -1 <= dictionary.find([word])[0] < 100
        except hi2.FormatError:
            continue
    with pytest.raises(hi2.FormatError, match=match):
        dictionary.check()


@pytest.mark.parametrize("base", [[], ["one", "two"]], ids=["new", "stored"])
def test_the_last_words_are_forgotten_and_their_numbers_given_again(base):
    dictionary = Dictionary.read(stored(base)) if base else Dictionary()
    n = len(dictionary)
    dictionary.add(["three", "four", "five"])
    dictionary.forget(n + 1)
    assert len(dictionary) == n + 1
    assert dictionary.find([*base, "three", "four"]).tolist() == [*range(n + 1), -1]
    assert dictionary.add(["five", "four"]).tolist() == [n + 1, n + 2]
    assert dictionary.lines_after(n) == b"three\nfive\nfour\n"
    if base:
        with pytest.raises(AssertionError, match="stored words stay"):
            dictionary.forget(1)
