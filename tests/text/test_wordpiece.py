"""Native tokens equal those of the ``tokenizers`` library for every text."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.text.tokenizer import BERT_SPECIAL_TOKENS
from hi2.text.tokenizer import Tokenizer as Ours

#: Kept marks of six combining classes, characters composed of such marks, and what they are or are not sorted across.
MARKS = "\U00011446\u1b44\U0001d165\u302e\U0001d16d\u08d4\U0001d15e\U0001d160\u0301\u0903\u0902\u200d\0"
PARTS = st.sampled_from(
    [
        *BERT_SPECIAL_TOKENS,
        *(token.lower() for token in BERT_SPECIAL_TOKENS),
        *("[SEP", "SEP]", "[", "]", "[[SEP]]", "[S", "EP]", "[SE\u0301P]", "[SEP\u0301]", "[S\0EP]"),
        *("é", "e\u0301", "ß", "İ", "東", "가", " ", "!", "a", "word"),
    ]
)


def assert_agree(tokenizer, texts, **options):
    """Assert that native tokens equal those of the library, text by text."""
    assert tokenizer.native is not None
    tokens, offsets = tokenizer.encode(texts, **options)
    expected, bounds = tokenizer._encode(texts, options.get("max_tokens"), None)
    different = [i for i in range(len(texts)) if np.diff(offsets[i : i + 2]) != np.diff(bounds[i : i + 2])]
    assert not different, repr(texts[different[0]])
    np.testing.assert_array_equal(tokens, expected)


def every_character(step):
    return [code for code in range(0, 0x110000, step) if not 0xD800 <= code < 0xE000]


def changed(bert, change):
    """Return BERT's tokenizer with a change of its definition."""
    definition = json.loads(bert.definition)
    change(definition)
    return Ours(json.dumps(definition))


@pytest.fixture(scope="module")
def small(bert):
    """BERT's tokenizer with a token for each mark, each of a few letters, and each of these inside a word."""
    characters = MARKS + "abé[]\U0001d157\U0001d158\U0001d16e"
    tokens = ["[UNK]", *characters, *(f"##{c}" for c in characters), "one", "two"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return changed(bert, lambda definition: definition["model"].update(vocab=vocabulary))


def with_added(small, *added):
    """Return the small tokenizer with further added tokens: (content, flags that are set)."""
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    tokens = [{"id": 1000 + i, "content": c, **{f: f in on for f in flags}} for i, (c, on) in enumerate(added)]
    return changed(small, lambda definition: definition["added_tokens"].extend(tokens))


def test_the_default_is_native_and_others_are_not(bert, words):
    assert bert.native is not None
    assert Ours.load(words).native is None
    assert changed(bert, lambda definition: definition["normalizer"].update(lowercase=False)).native is None


def test_definitions_that_differ_slightly_from_berts_use_the_library(bert):
    def with_hello(number):
        return changed(bert, lambda definition: definition["model"]["vocab"].update(hello=number)).native

    assert with_hello(30_522) is not None
    assert with_hello(bert.number("world")) is None  # two tokens with one number
    assert with_hello(10_000_000) is None  # a number far above the others


def test_a_list_may_change_while_it_is_tokenized(bert):
    texts = [f"word{i} and some more of them {i}" for i in range(3000)]
    expected = bert.encode(list(texts))[0].tolist()
    for _ in range(5):
        own = list(texts)
        clearing = threading.Thread(target=own.clear)
        clearing.start()
        tokens, _ = bert.encode(own, threads=2)
        clearing.join()
        assert tokens.tolist() in (expected, [])


def test_native_tokens_of_single_characters(bert):
    codes = [*range(0xD800), *every_character(7)]
    assert_agree(bert, [f"a{chr(code)}b {chr(code)}" for code in codes])


@pytest.mark.slow
def test_native_tokens_of_every_character_between_marks(bert):
    assert_agree(bert, [f"e{chr(code)}\u0301x\u302e{chr(code)} {chr(code)}1" for code in every_character(1)])


def test_native_tokens_of_characters_that_marks_are_sorted_across(small):
    assert_agree(small, [f"\u302e{chr(code)}\U0001d165" for code in [*range(0x3000), *every_character(5)]])


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.text(max_size=40) | st.text("abcdefg#[]CLSEP- éß\u0301가각東\u302e\U0001d165İ", max_size=120), max_size=5
    )
)
def test_native_tokens_of_any_text(bert, texts):
    assert_agree(bert, texts)
    assert_agree(bert, texts, max_tokens=3, threads=3)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.lists(PARTS | st.text(MARKS, max_size=6), max_size=12).map("".join), min_size=1, max_size=5))
def test_native_tokens_of_texts_with_special_words(bert, texts):
    assert_agree(bert, texts)
    assert_agree(bert, texts, max_tokens=3, threads=3)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.text(MARKS + "ab ", max_size=40), min_size=1, max_size=20))
def test_native_tokens_of_marks_in_any_order(small, texts):
    assert_agree(small, texts)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text("ab[] é", min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.sampled_from([(), ("lstrip",), ("rstrip",), ("lstrip", "rstrip"), ("special",)]), min_size=6),
    st.lists(st.text("ab[] é\t\u3000\x85", max_size=40), min_size=1, max_size=20),
)
def test_native_tokens_of_any_added_tokens(small, contents, flags, texts):
    tokenizer = with_added(small, *zip(contents, flags, strict=False))
    if tokenizer.native is not None:
        assert_agree(tokenizer, texts)
    else:
        assert any("strip" in flag for on in flags for flag in on)
        assert any(content != content.strip() for content in contents)


def test_tokens_that_strip_the_space_around_them_stay_native(small):
    tokenizer = with_added(small, ("<mask>", {"lstrip", "rstrip", "special"}), ("a b", ()))
    assert_agree(tokenizer, ["one  <mask>  two", "a b<mask>\u3000a b", "<mask> <mask>", " <mask>", "\x0b<mask>\x85x"])
    assert tokenizer.tokens("one <mask> two") == ["one", "two"]


@pytest.mark.parametrize("flag", ["single_word", "normalized"])
def test_added_tokens_that_are_found_only_in_some_places_use_the_library(small, flag):
    tokenizer = with_added(small, ("<x>", {flag}))
    assert tokenizer.native is None
    assert tokenizer.tokens("one <x> two") == ["one", "<x>", "two"]
    assert ("<x>" in tokenizer.tokens("one<x>")) is (flag == "normalized")


def test_native_tokens_at_the_limits(bert):
    assert_agree(
        bert,
        ["x" * 99, "x" * 100, "x" * 101, "é" * 100, "é" * 101, "각" * 34, "", " ", "\0", "[CLS]", "[cls]", "a[SEP]b"],
    )
    marks = ["\u302e" * 100, "\u302e" * 101, "x" * 99 + "\u302e\U0001d165", "x" * 101 + "\u302e[SEP]" + "x" * 100]
    assert_agree(bert, marks)
    tokens, offsets = bert.encode(["one two", "\u302e three [MASK] four", "five"])
    assert [bert.name(t) for t in tokens[int(offsets[1]) : int(offsets[2])]][-1] == "four"
    assert bert.tokens("five") == [bert.name(t) for t in tokens[int(offsets[2]) :]]


@pytest.mark.parametrize("unit", ["[SEP] word ", "[[SEP", "a\u302e", "\u302e\U0001d165", "x"], ids=ascii)
def test_long_texts_do_not_go_through_the_library_and_take_linear_time(bert, unit, monkeypatch):
    monkeypatch.setattr(bert, "_tokenizer", None)

    def seconds(text):
        begin = time.perf_counter()
        bert.encode([text], threads=1)
        return time.perf_counter() - begin

    text = unit * (500_000 // len(unit.encode()))
    assert seconds(8 * text) < 40 * max(seconds(text), seconds(text))
