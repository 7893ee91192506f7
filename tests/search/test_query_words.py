"""The words of a query are named as they are written, whatever a tokenizer makes of them."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import hi2
from hi2.search.query_words import query_words
from hi2.text.hashed_words import HashedWordTokenizer
from hi2.text.tokenizer import Tokenizer as Analyzer


def words(text, tokenizer):
    return [own.word for own in query_words(text, tokenizer)]


def taught(stemmer=None, *texts):
    tokenizer = hi2.WordTokenizer(stemmer)
    tokenizer.encode(list(texts), learn=True)
    return tokenizer


def test_stems_are_named_by_the_first_word_that_has_them():
    tokenizer = taught("english", "cells repair the cell")
    found = query_words("Cells: a cell, REPAIRED (quickly)?", tokenizer)
    assert [(own.word, len(own.terms)) for own in found] == [("Cells", 1), ("a", 0), ("REPAIRED", 1), ("quickly", 0)]
    assert found[0].terms == (tokenizer.number("cell"),)


def test_pieces_are_one_word_and_punctuation_is_none():
    tokenizer = Analyzer.load("wordpiece")
    found = query_words("Immaterial, immaterial? It's state-of-the-art.", tokenizer)
    assert [own.word for own in found] == ["Immaterial", "It", "s", "state", "of", "the", "art"]
    assert [tokenizer.name(term) for term in found[0].terms] == ["im", "##mate", "##rial"]


def test_a_piece_that_two_words_share_belongs_to_the_first():
    tokenizer = Analyzer.load("wordpiece")
    found = {own.word: [tokenizer.name(term) for term in own.terms] for own in query_words("indexes index", tokenizer)}
    assert found == {"indexes": ["index", "##es"]}
    found = {own.word: [tokenizer.name(term) for term in own.terms] for own in query_words("index indexes", tokenizer)}
    assert found == {"index": ["index"], "indexes": ["##es"]}


@pytest.mark.parametrize("make", [lambda: taught(None, "巴黎位于法国北部"), HashedWordTokenizer])
def test_pairs_of_characters_are_words_of_their_own(make):
    found = words("巴黎在法国的北部吗", make())
    assert {"巴黎", "法国", "北部"} <= set(found)
    assert all(len(word) == 2 for word in found)


def test_accents_and_marks_stay_in_their_words():
    assert words("cafe\u0301s, naïve «Über»", taught(None, "cafés naïve über")) == ["cafe\u0301s", "naïve", "Über"]


def test_special_tokens_are_no_words():
    assert words("[CLS] river [SEP]", Analyzer.load("wordpiece")) == ["river"]


def test_a_tokenizer_that_marks_the_beginning_of_words():
    vocabulary = {
        "Ġriver": 0,
        "river": 1,
        "Ġri": 2,
        "Ġ": 3,
        "r": 4,
        "i": 5,
        "v": 6,
        "e": 7,
        "iv": 8,
        "er": 9,
        "iver": 10,
    }
    merges = [("i", "v"), ("e", "r"), ("iv", "er"), ("r", "iver"), ("Ġ", "river")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    analyzer = Analyzer.load(tokenizer)
    assert [(own.word, own.terms) for own in query_words("river river", analyzer)] == [("river", (1,)), ("river", (0,))]


def test_a_text_without_words():
    assert query_words("", Analyzer.load("wordpiece")) == []
    assert query_words("?! ...", Analyzer.load("wordpiece")) == []
