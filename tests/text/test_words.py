"""Words are terms with exact numbers; a plain reference in Python is the judge."""

from __future__ import annotations

import re
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.text.bags import count, weigh
from hi2.text.unicode_words import unicode_words
from rewriting import rewrite_array

VECTORS = np.eye(4, dtype=np.float32)


class Reference:
    """What ``WordTokenizer`` says it does, word by word, without a cache."""

    def __init__(self, stemmer=None):
        self.stem = Stemmer.Stemmer(stemmer).stemWord if stemmer else str
        self.numbers = {}

    def words(self, text):
        lowered = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)
        chunks = [chunk for chunk in re.split("[\x00-/:-@\\[-^`{-\x7f]", lowered) if chunk]
        found = [word for chunk in chunks for word in ([chunk] if chunk.isascii() else unicode_words(chunk))]
        return [stem for stem in (self.stem(word) for word in found if len(word) <= 128) if stem]

    def encode(self, texts, max_tokens=None, learn=False):
        rows = []
        for text in texts:
            words = self.words(text)[:max_tokens]
            if learn:
                for word in words:
                    self.numbers.setdefault(word, len(self.numbers))
            rows.append([self.numbers[word] for word in words if word in self.numbers])
        return rows


def learned_by(tokenizer):
    """The words of a tokenizer's dictionary in the order they were learned."""
    return [tokenizer.name(number) for number in range(tokenizer.n_terms)]


def rows_of(tokens, offsets):
    return [tokens[int(a) : int(b)].tolist() for a, b in pairwise(offsets)]


PIECES = st.sampled_from(
    [
        *("run", "Running", "RUNS", "the", "_x9_", "'s", "x" * 127, " ", " ", ",", "\0", "\n", "-", "\x7f", "[", "`"),
        *("Ünïcode", "E\u0301te\u0301", "ﬁne", "東京都", "สวัสดี", "한국", "’", "—", "\u3000", "²", "ß", "é" * 128),
        *("I\u0307", "J\u0323\u030c"),
    ]
)
TEXT = st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)).map("".join)
TEXTS = st.lists(TEXT, max_size=4)
CALLS = st.lists(st.tuples(TEXTS, st.none() | st.integers(0, 6), st.booleans()), max_size=6)


@pytest.mark.parametrize("stemmer", [None, "english", "german"])
@given(calls=CALLS)
def test_texts_have_the_numbers_of_the_reference(stemmer, calls):
    tokenizer, reference = hi2.WordTokenizer(stemmer), Reference(stemmer)
    for texts, max_tokens, learn in calls:
        encoded = tokenizer.encode(texts, max_tokens=max_tokens, learn=learn)
        assert rows_of(*encoded) == reference.encode(texts, max_tokens, learn)
        assert [tokenizer.tokens(text) for text in texts] == [reference.words(text) for text in texts]
        assert learned_by(tokenizer) == list(reference.numbers)
    assert tokenizer.n_terms == len(tokenizer.dropped) == len(reference.numbers)


def test_every_ascii_character_splits_or_belongs_to_a_word():
    text = "".join(f"a{chr(code)}b " for code in range(128))
    assert hi2.WordTokenizer().tokens(text) == Reference().words(text)
    tokenizer = hi2.WordTokenizer()
    tokenizer.encode([text], learn=True)
    assert [tokenizer.name(int(t)) for t in tokenizer.encode([text])[0]] == Reference().words(text)


def test_stemming_joins_forms_of_a_word():
    assert hi2.WordTokenizer("english").tokens("running Runs") == ["run", "run"]
    index = hi2.HybridIndex.build(VECTORS[:2], ["Häuser", "Wald"], terms=hi2.BM25(tokenizer="german"))
    assert index.search(VECTORS[1], "Haus", clusters=0).ids.tolist() == [0]
    with pytest.raises(hi2.InvalidParameter, match=r"'stemmer'.*english.*'klingon'"):
        hi2.WordTokenizer("klingon")


def test_stems_that_are_empty_are_left_out(monkeypatch):
    tokenizer = hi2.WordTokenizer("english")

    class Emptying:
        def stemWords(self, words):  # noqa: N802 - as PyStemmer's
            return ["" if word.startswith("x") else word for word in words]

    monkeypatch.setattr(tokenizer, "_stemmer", Emptying())
    assert tokenizer.tokens("xa one é-x two x") == ["one", "é", "two"]
    tokens, offsets = tokenizer.encode(["xa one é x", "x", "two x é"], learn=True)
    assert (tokens.tolist(), offsets.tolist()) == ([0, 1, 2, 1], [0, 2, 2, 4])


def test_queries_never_add_words_and_find_those_that_come_later():
    tokenizer = hi2.WordTokenizer()
    tokenizer.encode(["one two"], learn=True)
    assert tokenizer.encode(["two three one", "three"])[0].tolist() == [1, 0]
    assert (tokenizer.n_terms, tokenizer.number("three"), tokenizer.names("three two")) == (2, None, {1: "two"})
    tokenizer.encode(["three"], learn=True)
    assert tokenizer.encode(["two three one", "three"])[0].tolist() == [1, 2, 0, 2]
    assert (tokenizer.name(2), tokenizer.name(3), tokenizer.number("three")) == ("three", "<3>", 2)


def test_words_after_the_last_that_is_read_are_not_learned():
    tokenizer = hi2.WordTokenizer()
    texts = ["a b c d", "c é-ü a", "d"]
    tokens, offsets = tokenizer.encode(texts, max_tokens=2, learn=True)
    assert learned_by(tokenizer) == ["a", "b", "c", "é", "d"]
    assert rows_of(tokens, offsets) == [[0, 1], [2, 3], [4]]


def test_a_full_dictionary_leaves_words_out():
    tokenizer = hi2.WordTokenizer()
    tokenizer.dictionary.limit = 2
    for _ in range(2):
        assert tokenizer.encode(["one two three one", "three"], learn=True)[0].tolist() == [0, 1, 0]
    assert count(tokenizer, ["one three"]).lengths.tolist() == [1]


def test_documents_and_weights_add_their_words():
    tokenizer = hi2.WordTokenizer("english")
    assert count(tokenizer, ["red red", "blue"]).terms.tolist() == [0, 1]
    bags = weigh(tokenizer, [{"red": 2.0, "Green boats": 3.0}])
    assert (bags.terms.tolist(), learned_by(tokenizer)) == ([0, 2, 3], ["red", "blue", "green", "boat"])


def test_a_copy_and_a_restored_tokenizer_give_the_same_numbers_and_learn_on_their_own():
    tokenizer = hi2.WordTokenizer("english")
    tokenizer.encode(["some texts of words"], learn=True)
    arrays = tokenizer.arrays(tokenizer.n_terms)
    restored = hi2.WordTokenizer.restore(tokenizer.definition, hi2.WordTokenizer().dictionary.read(arrays))
    for other in (tokenizer.copy(), restored):
        assert other.fingerprint == tokenizer.fingerprint != hi2.WordTokenizer().fingerprint
        assert other.encode(["words of a text"])[0].tolist() == tokenizer.encode(["words of a text"])[0].tolist()
        other.encode(["another"], learn=True)
        assert (other.number("anoth"), tokenizer.number("anoth")) == (4, None)
    tokenizer.encode(["more"], learn=True)
    assert (tokenizer.number("more"), restored.encode(["more another"])[0].tolist()) == (4, [4])


def test_bad_texts_are_named_by_row():
    tokenizer = hi2.WordTokenizer()
    with pytest.raises(hi2.InvalidParameter, match="a int in row 1"):
        tokenizer.encode(["one", 2])
    for call in (lambda text: tokenizer.encode(["one", text], learn=True), tokenizer.tokens, tokenizer.names):
        with pytest.raises(hi2.InvalidParameter, match="'texts' parameter must be valid Unicode"):
            call("two \ud800")
    assert tokenizer.encode([])[1].tolist() == [0]


HOSTILE = {
    "one letter": "x" * 5_000_000,
    "one letter that is not ASCII": "é" * 2_500_000,
    "NULs": "\0" * 5_000_000,
    "distinct words": " ".join(f"{i:x}" for i in range(800_000)),
    "Chinese": "東京都日本" * 100_000,
    "marks": "a\u0301\u0323" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_long_texts_take_memory_in_proportion(name):
    tokenizer, text = hi2.WordTokenizer("english"), HOSTILE[name]
    tokenizer.encode(["é 東京都 one"], learn=True)  # what is made once is not counted
    tracemalloc.start()
    tokens, offsets = tokenizer.encode([text], learn=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(text.encode()) + (1 << 20)
    assert int(offsets[-1]) == len(tokens) == len(tokenizer.tokens(text))
    assert tokenizer.encode([text], max_tokens=3)[0].tolist() == tokens[:3].tolist()


def test_many_distinct_words_take_linear_time():
    def seconds(n):
        text = " ".join(f"w{i}é" if i % 8 == 0 else f"w{i}" for i in range(n))
        tokenizer, best = hi2.WordTokenizer(), np.inf
        for _ in range(3):
            start = time.perf_counter()
            tokenizer.copy().encode([text], learn=True)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(160_000) < 40 * seconds(20_000)


# -- in an index ------------------------------------------------------------------------------------------------------


def test_chinese_documents_are_found_by_a_part_of_their_text(tmp_path):
    texts = ["北京是中华人民共和国的首都", "东京都是日本的首都圈", "巴黎位于法国北部", "柏林是德国的城市"]
    index = hi2.HybridIndex.build(VECTORS, texts, terms=hi2.BM25(tokenizer="words"), path=tmp_path / "a")
    assert index.search(VECTORS.sum(axis=0), "东京都是日本的首都圈吗", clusters=0, k=1).ids.tolist() == [1]
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.search(VECTORS.sum(axis=0), "巴黎在法国的北部吗", clusters=0, k=1).ids.tolist() == [2]
    explanation = opened.explain(VECTORS[3], "巴黎在法国的北部吗", id=2)
    assert {term.term for term in explanation.terms} <= set(hi2.WordTokenizer().tokens(texts[2]))
    assert explanation.terms
    opened.verify()


def test_verify_reads_every_stored_word(tmp_path):
    texts = ["one two", "three four five"]
    hi2.HybridIndex.build(VECTORS[:2], texts, terms=hi2.BM25(tokenizer="words"), path=tmp_path / "a").close()
    rewrite_array(tmp_path / "a", "word_characters.npy", lambda _: None)
    hi2.HybridIndex.open(tmp_path / "a").verify()
    rewrite_array(tmp_path / "a", "word_characters.npy", lambda characters: np.full_like(characters, ord("x")))
    with pytest.raises(hi2.FormatError, match="not sorted"):
        hi2.HybridIndex.open(tmp_path / "a").verify()


def test_indexes_do_not_share_a_dictionary():
    terms = hi2.BM25(tokenizer=hi2.WordTokenizer())
    first, second = (hi2.HybridIndex.build(VECTORS[:1], [text], terms=terms) for text in ("one two", "three"))
    assert (first.model.n_terms, second.model.n_terms) == (2, 1)


def test_words_of_added_documents_are_terms_if_the_index_was_built_with_them():
    index = hi2.HybridIndex.build(VECTORS[:2], ["one text", "two texts"], terms=hi2.BM25(tokenizer="english"))
    index.add(VECTORS[2:3], ["two hippopotamuses swim"])
    index.add(VECTORS[3:], ["two texts"])
    assert index.search(VECTORS[0], "two", clusters=0, lexical=0).ids.tolist() == [1, 3]  # rarer words come first
    assert sorted(index.search(VECTORS[0], "two", clusters=0).ids.tolist()) == [1, 2, 3]  # notes have the others
    assert index.search(VECTORS[0], "hippopotamus", clusters=0).ids.tolist() == [2]


def test_a_word_first_seen_in_an_added_document_is_found():
    index = hi2.HybridIndex.build(VECTORS[:2], ["one text", "two texts"], terms=hi2.BM25(tokenizer="words"))
    index.add(VECTORS[2:3], ["a hippopotamus text"])
    assert index.search(VECTORS[0], "hippopotamus", clusters=0).ids.tolist() == [2]


def test_words_that_are_forgotten_are_not_found_in_texts():
    """Chunks that were read with them are read again."""
    words = hi2.WordTokenizer("english")
    words.encode(["red birds"], learn=True)
    words.encode(["red Foxes", "foxes"], learn=True)
    before = words.native
    words.forget(2)
    assert words.native is not before
    assert words.encode(["red foxes birds"])[0].tolist() == [0, 1]
    assert words.encode(["stones foxes"], learn=True)[0].tolist() == [2, 3]
    assert words.names("foxes stones") == {2: "stone", 3: "fox"}
