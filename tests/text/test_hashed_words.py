"""Words whose terms are hashes of them: indexes that have them open and take additions."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.text.hashed_words import HashedWordTokenizer

VECTORS = np.eye(4, dtype=np.float32)


def test_case_is_folded_and_punctuation_is_not_a_term():
    tokens = HashedWordTokenizer().tokens("ＦＵＬＬ width, naïve Straße—don\u2019t! Привет мир")
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
def test_scripts_without_spaces_become_pairs_of_characters(text, expected):
    tokens = HashedWordTokenizer().tokens(text)
    assert tokens == expected if expected else len(tokens) > 1


def test_chinese_documents_are_found_by_a_part_of_their_text(tmp_path):
    texts = ["北京是中华人民共和国的首都", "东京都是日本的首都圈", "巴黎位于法国北部", "柏林是德国的城市"]
    terms = hi2.BM25(tokenizer=HashedWordTokenizer())
    index = hi2.HybridIndex.build(VECTORS, texts, terms=terms, path=tmp_path / "a")
    assert index.search(VECTORS.sum(axis=0), "东京都是日本的首都圈吗", clusters=0, k=1).ids.tolist() == [1]
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.search(VECTORS.sum(axis=0), "巴黎在法国的北部吗", clusters=0, k=1).ids.tolist() == [2]
    explanation = opened.explain(VECTORS[3], "巴黎在法国的北部吗", id=2)
    assert {term.term for term in explanation.terms} <= set(HashedWordTokenizer().tokens(texts[2]))
    assert explanation.terms
    opened.verify()


def test_a_word_first_seen_in_an_added_document_is_found():
    index = hi2.HybridIndex.build(
        VECTORS[:2], ["one text", "two texts"], terms=hi2.BM25(tokenizer=HashedWordTokenizer())
    )
    index.add(VECTORS[2:3], ["a hippopotamus"])
    assert index.search(VECTORS[0], "hippopotamus", clusters=0).ids.tolist() == [2]
    assert "no document has: zebra" in str(index.explain(VECTORS[0], "zebra", id=0))


def test_a_stored_index_opens_and_takes_additions(tmp_path):
    terms = hi2.BM25(tokenizer=HashedWordTokenizer("english"))
    hi2.HybridIndex.build(VECTORS[:2], ["one text", "two texts"], terms=terms, path=tmp_path / "a").close()
    index = hi2.HybridIndex.open(tmp_path / "a", "w")
    index.add(VECTORS[2:3], ["a hippopotamus"])
    index.commit()
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert '"hi2 words"' in opened.model.terms.tokenizer.definition
    assert opened.search(VECTORS[0], "hippopotamuses", clusters=0).ids.tolist() == [2]
    opened.verify()


def test_stemming_joins_forms_of_a_word():
    english = HashedWordTokenizer("english")
    assert english.tokens("running runs") == ["run", "run"]
    index = hi2.HybridIndex.build(
        VECTORS[:2], ["Häuser", "Wald"], terms=hi2.BM25(tokenizer=HashedWordTokenizer("german"))
    )
    assert index.search(VECTORS[1], "Haus", clusters=0).ids.tolist() == [0]
    with pytest.raises(hi2.InvalidParameter, match=r"'stemmer'.*english.*'klingon'"):
        HashedWordTokenizer("klingon")


def test_a_restored_tokenizer_gives_the_same_terms():
    tokenizer = HashedWordTokenizer(n_terms=1000)
    restored = HashedWordTokenizer.restore(tokenizer.definition)
    assert tokenizer.fingerprint == restored.fingerprint
    for a, b in zip(tokenizer.encode(["some text of words"]), restored.encode(["some text of words"]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(tokenizer.encode(["\ud800 \x00"])[0]) == 0


def test_numbers_of_terms_are_below_the_limit_and_stay_the_same():
    """An index stores term numbers, so a word has the same number in every version."""
    tokenizer = HashedWordTokenizer(n_terms=1000)
    tokens, offsets = tokenizer.encode(["one two", "", "two"])
    assert offsets.tolist() == [0, 2, 2, 3]
    assert tokens.tolist() == [tokenizer.number(word) for word in ("one", "two", "two")]
    assert tokens.max() < tokenizer.n_terms == 1000
    assert HashedWordTokenizer().number("hybrid") == 88115
    assert tokenizer.names("Two") == {tokenizer.number("two"): "two"}


def test_bad_arguments_name_the_row_or_the_parameter():
    assert HashedWordTokenizer().encode(["one two three"], max_tokens=2)[1].tolist() == [0, 2]
    with pytest.raises(hi2.InvalidParameter, match="a int in row 1"):
        HashedWordTokenizer().encode(["one", 2])
    for bad in (0, 255, 1 << 23):
        with pytest.raises(hi2.InvalidParameter, match="'n_terms'"):
            HashedWordTokenizer(n_terms=bad)
