"""A tokenizer whose rules make texts explode is refused; those in use are not."""

from __future__ import annotations

import base64
import hashlib

import numpy as np
import pytest
from tokenizers import Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Library

import hi2
from hi2.errors import InvalidParameter
from hi2.text.growth import MAX_GROWTH, check_growth
from hi2.text.tokenizer import Tokenizer, bert_definition
from rewriting import rewrite, write_array


def definition(normalizer=None, pre_tokenizer=None) -> str:
    made = Library(models.WordLevel({"a": 0, "x": 1}, unk_token="x"))
    if normalizer is not None:
        made.normalizer = normalizer
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    return made.to_str()


def charsmap(longest: int) -> dict:
    table = (4).to_bytes(4, "little") + b"trie" + b"b\0" + b"c" * longest + b"\0"
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


TEN = normalizers.Replace("a", "a" * 10)
BOMBS = {
    "strings": {"normalizer": normalizers.Sequence([TEN] * 9)},
    "nested": {"normalizer": normalizers.Sequence([normalizers.Sequence([TEN] * 2), TEN])},
    "patterns": {"normalizer": normalizers.Replace(Regex("."), "b" * 300)},
    "nothing": {"normalizer": normalizers.Replace("", "b" * 300)},
    "before": {"normalizer": normalizers.Sequence([normalizers.Prepend("p" * 20)] * 3)},
    "bytes": {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.ByteLevel()] * 30)},
}


@pytest.mark.parametrize("name", BOMBS)
def test_rules_that_multiply_are_refused(name):
    with pytest.raises(InvalidParameter, match=f"at most {MAX_GROWTH} times"):
        Tokenizer(definition(**BOMBS[name]))


def test_a_table_of_long_replacements_is_refused():
    check_growth({"normalizer": charsmap(40)})
    for bomb in (charsmap(300), {"type": "Sequence", "normalizers": [charsmap(20)] * 3}):
        with pytest.raises(InvalidParameter, match="lengthens a text"):
            check_growth({"normalizer": bomb})


def test_rules_in_use_are_accepted():
    Tokenizer(bert_definition())
    llama = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    albert = [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    for normalizer in (None, llama, normalizers.Sequence(albert), normalizers.BertNormalizer(), normalizers.Nmt()):
        for pre_tokenizer in (None, pre_tokenizers.ByteLevel(), pre_tokenizers.Metaspace()):
            Tokenizer(definition(normalizer, pre_tokenizer))
    for malformed in ({}, {"normalizer": None}, {"normalizer": {"type": "New"}}):
        check_growth(malformed)


def test_a_stored_tokenizer_that_makes_texts_explode_is_damage(tmp_path):
    vectors = np.eye(4, dtype=np.float32)
    plain = Library.from_str(definition())
    hi2.HybridIndex.build(vectors, ["a", "x", "a a", ""], terms=hi2.BM25(tokenizer=plain), path=tmp_path / "a").close()
    bomb = definition(**BOMBS["strings"]).encode()

    def change(manifest):
        write_array(tmp_path / "a", manifest["model"], "tokenizer.json", np.frombuffer(bomb, np.uint8))
        manifest["model"]["parts"]["terms"]["tokenizer_sha256"] = hashlib.sha256(bomb).hexdigest()

    rewrite(tmp_path / "a", change)
    index = hi2.HybridIndex.open(tmp_path / "a")
    for use in (index.verify, lambda: index.search(vectors[0], "a")):
        with pytest.raises(hi2.FormatError, match="lengthens a text"):
            use()


def test_a_stored_tokenizer_that_is_no_text_is_damage(tmp_path):
    vectors = np.eye(4, dtype=np.float32)
    hi2.HybridIndex.build(vectors, ["a", "x", "a a", ""], path=tmp_path / "a").close()

    def change(manifest):
        write_array(tmp_path / "a", manifest["model"], "tokenizer.json", np.full(9, 255, np.uint8))
        manifest["model"]["parts"]["terms"]["tokenizer_sha256"] = hashlib.sha256(b"\xff" * 9).hexdigest()

    rewrite(tmp_path / "a", change)
    index = hi2.HybridIndex.open(tmp_path / "a")
    for use in (
        index.verify,
        index.info,
        index.health,
        lambda: index.save(tmp_path / "b"),
        lambda: index.model.fingerprint,
    ):
        with pytest.raises(hi2.FormatError, match="tokenizer cannot be read"):
            use()
