"""Words of any language are terms, also those no document had at the fit."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import hi2

V = np.eye(4, dtype=np.float32)


def test_words_are_folded_and_punctuation_is_no_term():
    tokens = hi2.WordTokenizer().tokens("ＦＵＬＬ width, naïve Straße—don\u2019t! Привет мир")
    assert tokens == ["full", "width", "naïve", "strasse", "don", "t", "привет", "мир"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都", ["東京", "京都"]),
        ("木", ["木"]),
        ("ひらがなx", ["ひら", "らが", "がな", "x"]),
        ("한국어", ["한국", "국어"]),
        ("สวัสดี", None),
    ],
)
def test_scripts_without_spaces_become_pairs(text, expected):
    tokens = hi2.WordTokenizer().tokens(text)
    assert tokens == expected if expected else len(tokens) > 1


def test_chinese_documents_are_found_by_a_part_of_their_text(tmp_path):
    texts = ["北京是中华人民共和国的首都", "东京都是日本的首都圈", "巴黎位于法国北部", "柏林是德国的城市"]
    terms = hi2.BM25(tokenizer=hi2.WordTokenizer())
    index = hi2.HybridIndex.build(V, texts, terms=terms, path=tmp_path / "a")
    assert index.search(V[3], "东京都是日本的首都圈吗", clusters=0, k=1).ids.tolist() == [1]
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.search(V[3], "巴黎在法国的北部吗", clusters=0, k=1).ids.tolist() == [2]
    why = opened.explain(V[3], "巴黎在法国的北部吗", id=2)
    assert {term.term for term in why.terms} <= set(hi2.WordTokenizer().tokens(texts[2]))
    assert why.terms
    opened.verify()


def test_a_word_first_seen_in_an_added_document_is_found():
    index = hi2.HybridIndex.build(V[:2], ["one text", "two texts"], terms=hi2.BM25(tokenizer=hi2.WordTokenizer()))
    index.add(V[2:3], ["a hippopotamus"])
    assert index.search(V[0], "hippopotamus", clusters=0).ids.tolist() == [2]
    assert "no document is filed under: zebra" in str(index.explain(V[0], "zebra", id=0))


def test_stemming_joins_forms_of_a_word():
    pytest.importorskip("Stemmer", reason="needs the extra 'stem'")
    english = hi2.WordTokenizer("english")
    assert english.tokens("running runs") == ["run", "run"]
    index = hi2.HybridIndex.build(V[:2], ["Häuser", "Wald"], terms=hi2.BM25(tokenizer=hi2.WordTokenizer("german")))
    assert index.search(V[1], "Haus", clusters=0).ids.tolist() == [0]
    with pytest.raises(hi2.InvalidParameter, match=r"'stemmer'.*english.*'klingon'"):
        hi2.WordTokenizer("klingon")


def test_a_missing_stemmer_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[stem\]"):
        hi2.WordTokenizer("english")


def test_the_definition_makes_the_same_terms_again():
    one = hi2.WordTokenizer(n_terms=1000)
    two = hi2.WordTokenizer.restore(one.definition)
    assert one.fingerprint == two.fingerprint
    for a, b in zip(one.encode(["some text of words"]), two.encode(["some text of words"]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(one.encode(["\ud800 \x00"])[0]) == 0
