"""A stored tokenizer is parsed when it is first used."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pytest

import hi2
import malformed_tokenizers as malformed
from hi2.text import lazy_tokenizer
from hi2.text.hashed_words import HashedWordTokenizer
from hi2.text.lazy_tokenizer import LazyTokenizer
from hi2.text.tokenizer import Tokenizer as Ours


def test_the_tokenizer_is_stored_with_the_index(words, tmp_path):
    vectors = np.eye(3, dtype=np.float32)
    terms = hi2.BM25(per_doc=2, tokenizer=words)
    index = hi2.HybridIndex.build(vectors, ["red red", "blue", "green"], terms=terms, path=tmp_path / "a")
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.model.terms.tokenizer.fingerprint == Ours.load(words).fingerprint
    assert opened.search(vectors[2], "blue", clusters=0).ids.tolist() == [1]


def learned(texts):
    tokenizer = hi2.WordTokenizer("english")
    tokenizer.encode(texts, learn=True)
    return tokenizer


@pytest.mark.parametrize("kind", ["bert", "hashed words", "words"])
def test_a_lazy_tokenizer_gives_the_terms_of_the_stored_one(kind, bert):
    words = learned(["Many inverted lists are one index"])
    tokenizer = {"bert": bert, "hashed words": HashedWordTokenizer(n_terms=1000), "words": words}[kind]
    stored = LazyTokenizer(tokenizer.definition.encode(), tokenizer.n_terms, getattr(tokenizer, "dictionary", None))
    assert stored.definition == tokenizer.definition
    assert stored.fingerprint == tokenizer.fingerprint
    assert stored.tokens("Inverted indexes") == tokenizer.tokens("Inverted indexes")
    assert stored.encode(["Inverted indexes"])[0].tolist() == tokenizer.encode(["Inverted indexes"])[0].tolist()
    assert stored.arrays(stored.n_terms).keys() == tokenizer.arrays(tokenizer.n_terms).keys()
    np.testing.assert_array_equal(stored.dropped, tokenizer.dropped)


def test_it_is_parsed_once_and_only_when_a_text_needs_it(bert, monkeypatch):
    parsed = []
    monkeypatch.setattr(lazy_tokenizer, "restore_analyzer", lambda definition, *_: parsed.append(definition) or bert)
    stored = LazyTokenizer(bert.definition.encode(), bert.n_terms)
    assert (stored.n_terms, stored.definition, len(stored.fingerprint)) == (30522, bert.definition, 64)
    assert not parsed
    stored.tokens("one")
    stored.encode(["two"])
    assert len(parsed) == 1


@pytest.mark.parametrize(
    ("definition", "n_terms", "match"),
    [
        (b"{}", 5, "cannot be read"),
        (b"no JSON", 5, "cannot be read"),
        (b'{"kind": "hi2 words"}', 1000, "cannot be read"),
        (b'{"kind": "hi2 words", "stemmer": 3, "n_terms": 1000}', 1000, "cannot be read"),
        (b"\xff", 1000, "cannot be read"),
        (HashedWordTokenizer(n_terms=1000).definition.encode(), 999, "one of 999 terms. Got one of 1000"),
    ],
)
def test_a_damaged_definition_is_found_when_it_is_parsed(definition, n_terms, match):
    stored = LazyTokenizer(definition, n_terms)
    with pytest.raises(hi2.FormatError, match=match):
        stored.tokens("text")


def test_words_without_their_dictionary_are_damaged():
    words = learned(["one two three"])
    stored = LazyTokenizer(words.definition.encode(), 3)
    with pytest.raises(hi2.FormatError, match="stored with its dictionary"):
        stored.encode(["one"])


def test_terms_grow_with_the_dictionary():
    words = learned(["one two three"])
    stored = LazyTokenizer(words.definition.encode(), 3, words.dictionary)
    assert stored.n_terms == 3
    words.dictionary.add(["four"])
    assert stored.n_terms == 4
    assert stored.encode(["four"])[0].tolist() == [3]


UNREADABLE = malformed.UNREADABLE | malformed.HUGE


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_malformed_definition_is_found_when_it_is_parsed(name):
    stored = LazyTokenizer(UNREADABLE[name].encode(), 5)
    with pytest.raises(hi2.FormatError, match="tokenizer cannot be read"):
        stored.encode(["a"])


@pytest.mark.parametrize("name", malformed.FAIL_WHEN_USED)
def test_a_tokenizer_that_fails_on_a_text_is_damaged(name):
    tokenizer = Ours(malformed.FAIL_WHEN_USED[name])
    stored = LazyTokenizer(tokenizer.definition.encode(), tokenizer.n_terms)
    for method in (stored.tokens, stored.names, lambda text: stored.encode([text])):
        with pytest.raises(hi2.FormatError, match="its tokenizer fails"):
            method(malformed.FAILING_TEXT)
    with pytest.raises(hi2.InvalidParameter, match="'texts' parameter"):
        stored.encode([3])


def test_a_tokenizer_of_another_size_is_found_before_anything_is_allocated():
    largest = malformed.LARGEST
    for definition in (largest, HashedWordTokenizer(n_terms=1 << 22).definition):
        stored = LazyTokenizer(definition.encode(), 5)
        tracemalloc.start()
        with pytest.raises(hi2.FormatError, match="one of 5 terms"):
            stored.encode(["a"])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 20


def test_it_can_be_copied_without_being_parsed():
    stored = copy.deepcopy(LazyTokenizer(b"no JSON", 5))
    assert (stored.n_terms, stored.definition) == (5, "no JSON")
