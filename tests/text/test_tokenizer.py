"""Tokens are those of the tokenizer, whole and without special ones."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import hi2
from hi2.text.tokenizer import BERT_SPECIAL_TOKENS
from hi2.text.tokenizer import Tokenizer as Ours


@pytest.fixture(scope="module")
def bert():
    return Ours.load(None)


@pytest.fixture
def words():
    tokenizer = Tokenizer(models.WordLevel({"red": 0, "blue": 1, "[UNK]": 2, "[PAD]": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[PAD]"])
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(pad_id=3, pad_token="[PAD]", length=9)
    return tokenizer


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


def test_nothing_is_cut_or_padded(bert, words):
    assert len(bert.tokens("word " * 5000)) == 5000
    assert Ours.load(words).tokens("red blue red blue red green") == ["red", "blue", "red", "blue", "red"]


def test_max_tokens_cuts_documents(corpus):
    short = hi2.HybridIndex.build(corpus.vectors, corpus.texts, terms=hi2.BM25(max_tokens=10))
    assert short.model.terms.average_length <= 10


def test_tokenizers_load_from_files_folders_and_objects(words, tmp_path):
    words.save(str(tmp_path / "tokenizer.json"))
    expected = Ours.load(words).fingerprint
    assert Ours.load(tmp_path / "tokenizer.json").fingerprint == expected
    assert Ours.load(str(tmp_path)).fingerprint == expected
    assert Ours.load(None).fingerprint != expected


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(hi2.InvalidParameter, match="'tokenizer'"):
        Ours.load(tmp_path)


def test_the_tokenizer_travels_with_the_index(words, tmp_path):
    vectors = np.eye(3, dtype=np.float32)
    terms = hi2.BM25(per_doc=2, tokenizer=words)
    index = hi2.HybridIndex.build(vectors, ["red red", "blue", "green"], terms=terms, path=tmp_path / "a")
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.model.terms.tokenizer.fingerprint == Ours.load(words).fingerprint
    assert opened.search(vectors[2], "blue", clusters=0).ids.tolist() == [1]
