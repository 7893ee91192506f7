"""Tokens are those of the given tokenizer, without truncation, padding or special tokens."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

import hi2
from hi2.text.tokenizer import BERT_SPECIAL_TOKENS, restore_analyzer
from hi2.text.tokenizer import Tokenizer as Ours


def test_the_default_is_berts_wordpiece(bert):
    assert bert.n_terms == 30522
    assert bert.tokens("Inverted indexes, naïve!") == ["inverted", "index", "##es", ",", "naive", "!"]
    assert [bert.name(i) for i in (0, 100, 101, 102, 103)] == list(BERT_SPECIAL_TOKENS)


def test_special_and_unknown_tokens_are_dropped(bert):
    assert bert.tokens("[CLS] word [SEP] \U0001f9ff") == ["word"]
    assert bert.dropped.sum() == len(BERT_SPECIAL_TOKENS)


def test_a_unigram_tokenizer_drops_its_unknown_token():
    unigram = Tokenizer(models.Unigram([("<unk>", 0.0), ("red", -1.0), ("blue", -1.0)], unk_id=0))
    assert Ours.load(unigram).tokens("redxyzblue") == ["red", "blue"]


def test_texts_are_not_truncated_or_padded(bert, words):
    assert len(bert.tokens("word " * 5000)) == 5000
    assert Ours.load(words).tokens("red blue red blue red green") == ["red", "blue", "red", "blue", "red"]


def test_tokenizers_load_from_files_folders_and_objects(words, tmp_path):
    words.save(str(tmp_path / "tokenizer.json"))
    expected = Ours.load(words).fingerprint
    assert Ours.load(tmp_path / "tokenizer.json").fingerprint == expected
    assert Ours.load(str(tmp_path)).fingerprint == expected
    assert Ours.load(None).fingerprint != expected


def test_a_file_without_a_tokenizer_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(hi2.InvalidParameter, match="'tokenizer'"):
        Ours.load(tmp_path)


# -- the native WordPiece --------------------------------------------------------------------------------------------


def assert_agree(bert, texts, **options):
    """Assert that native tokens equal those of the ``tokenizers`` library, text by text."""
    tokens, offsets = bert.encode(texts, **options)
    expected, bounds = bert._encode(texts, options.get("max_tokens"), None)
    different = [i for i in range(len(texts)) if np.diff(offsets[i : i + 2]) != np.diff(bounds[i : i + 2])]
    assert not different, repr(texts[different[0]])
    np.testing.assert_array_equal(tokens, expected)


def every_character(step):
    return [code for code in range(0, 0x110000, step) if not 0xD800 <= code < 0xE000]


def test_the_default_is_native_and_others_are_not(bert, words):
    assert bert.pieces is not None
    assert Ours.load(words).pieces is None
    cased = json.loads(bert.definition)
    cased["normalizer"]["lowercase"] = False
    assert Ours(json.dumps(cased)).pieces is None


def test_definitions_that_differ_slightly_from_berts_use_the_library(bert):
    def changed(change):
        definition = json.loads(bert.definition)
        change(definition["model"]["vocab"])
        return Ours(json.dumps(definition)).pieces

    assert changed(lambda vocabulary: None) is not None
    assert (
        changed(lambda vocabulary: vocabulary.update(hello=vocabulary["world"])) is None
    )  # two tokens with one number
    assert changed(lambda vocabulary: vocabulary.update(hello=30_000_000)) is None  # a number far above the others


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


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.text(max_size=40) | st.text("abcdefg#[]CLSEP- éß\u0301가각東\u302e\U0001d165İ", max_size=120), max_size=5
    )
)
def test_native_tokens_of_any_text(bert, texts):
    assert_agree(bert, texts)
    assert_agree(bert, texts, max_tokens=3, threads=3)


def test_native_tokens_at_the_limits(bert):
    assert_agree(
        bert,
        ["x" * 99, "x" * 100, "x" * 101, "é" * 100, "é" * 101, "각" * 34, "", " ", "\0", "[CLS]", "[cls]", "a[SEP]b"],
    )
    tokens, offsets = bert.encode(["one two", "\u302e three [MASK] four", "five"])
    assert [bert.name(t) for t in tokens[int(offsets[1]) : int(offsets[2])]][-1] == "four"
    assert bert.tokens("five") == [bert.name(t) for t in tokens[int(offsets[2]) :]]


def test_a_definition_restores_the_kind_of_tokenizer_that_wrote_it(bert, words):
    for tokenizer in (bert, Ours.load(words), hi2.WordTokenizer(n_terms=512)):
        restored = restore_analyzer(tokenizer.definition)
        assert type(restored) is type(tokenizer)
        assert restored.fingerprint == tokenizer.fingerprint
    assert Ours.load(bert) is bert


def test_terms_have_names_and_numbers(bert):
    assert bert.name(bert.number("index")) == "index"
    assert bert.number("not a piece") is None
    assert bert.name(10**6) == "<1000000>"
    assert bert.names("red blue red") == {bert.number("red"): "red", bert.number("blue"): "blue"}


def test_what_is_no_tokenizer_is_refused(tmp_path):
    for bad, match in ((3, "a int"), ([], "a list")):
        with pytest.raises(hi2.InvalidParameter, match=match):
            Ours.load(bad)
    with pytest.raises(hi2.InvalidParameter, match="with a vocabulary"):
        Ours.load(Tokenizer(models.WordLevel({}, unk_token="x")))
    with pytest.raises(hi2.InvalidParameter, match="a name the hub knows"):
        Ours.load(tmp_path / "nowhere")
