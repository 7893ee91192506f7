"""Tokens are those of the given tokenizer, without truncation, padding or special tokens."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tokenizers import Tokenizer, models

import hi2
import malformed_tokenizers as malformed
from hi2.text.hashed_words import HashedWordTokenizer
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


def test_a_definition_restores_the_kind_of_tokenizer_that_wrote_it(bert, words):
    learned = hi2.WordTokenizer("german")
    learned.encode(["ein Haus", "zwei Häuser"], learn=True)
    for tokenizer in (bert, Ours.load(words), HashedWordTokenizer(n_terms=512), learned):
        dictionary = tokenizer.dictionary if tokenizer is learned else None
        restored = restore_analyzer(tokenizer.definition, tokenizer.n_terms, dictionary)
        assert type(restored) is type(tokenizer)
        assert restored.fingerprint == tokenizer.fingerprint
        assert restored.encode(["Haus red"])[0].tolist() == tokenizer.encode(["Haus red"])[0].tolist()
    assert Ours.load(bert) is bert
    with pytest.raises(hi2.InvalidParameter, match="stored with its dictionary"):
        restore_analyzer(learned.definition)


def test_reserved_names_are_wordpiece_words_and_languages(bert):
    assert Ours.load("wordpiece").fingerprint == bert.fingerprint
    assert Ours.load("words").tokens("Running runs") == ["running", "runs"]
    assert Ours.load("english").tokens("Running runs") == ["run", "run"]
    assert Ours.load("german").fingerprint == hi2.WordTokenizer("german").fingerprint
    with pytest.raises(hi2.InvalidParameter, match="'words', a language"):
        Ours.load("klingon/none")


def test_a_loaded_word_tokenizer_learns_on_its_own():
    given = hi2.WordTokenizer()
    Ours.load(given).encode(["one two"], learn=True)
    assert given.n_terms == 0


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


# -- definitions that the library does not refuse properly -----------------------------------------------------------


@pytest.mark.parametrize("name", malformed.UNREADABLE)
def test_a_definition_that_cannot_be_read_is_refused(name, tmp_path):
    with pytest.raises(hi2.InvalidParameter, match="'tokenizer' parameter"):
        Ours(malformed.UNREADABLE[name])
    (tmp_path / "tokenizer.json").write_text(malformed.UNREADABLE[name])
    with pytest.raises(hi2.InvalidParameter, match="'tokenizer' parameter"):
        hi2.HybridIndex.build(np.eye(2, dtype=np.float32), ["a", "b"], terms=hi2.BM25(tokenizer=tmp_path))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", malformed.FAIL_WHEN_USED)
def test_a_tokenizer_that_fails_when_it_is_used_is_refused(name, threads):
    tokenizer = Ours(malformed.FAIL_WHEN_USED[name])
    with pytest.raises(hi2.InvalidParameter, match="'tokenizer' parameter"):
        tokenizer.encode([malformed.FAILING_TEXT], threads=threads)
    with pytest.raises(hi2.InvalidParameter, match=r"'texts' parameter.*row 1"):
        tokenizer.encode(["a", 3], threads=threads)


@pytest.mark.parametrize("name", malformed.HUGE)
def test_a_vocabulary_with_numbers_too_large_to_be_posted_is_refused_before_it_is_allocated(name):
    tracemalloc.start()
    with pytest.raises(hi2.InvalidParameter, match="numbers below 16777216"):
        Ours(malformed.HUGE[name])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_the_largest_vocabulary_is_indexed(tmp_path):
    last = malformed.LARGEST
    terms = hi2.BM25(tokenizer=Tokenizer.from_str(last))
    index = hi2.HybridIndex.build(np.eye(2, dtype=np.float32), ["a", "x"], terms=terms)
    assert index.search(np.eye(2, dtype=np.float32)[1], "a", clusters=0).ids.tolist() == [0]


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(b"\xff\xfe")
    for source in (tmp_path, "x" * 10_000):
        with pytest.raises(hi2.InvalidParameter, match="a name the hub knows"):
            Ours.load(source)
