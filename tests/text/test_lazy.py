"""A stored tokenizer is parsed when it is first used."""

from __future__ import annotations

import numpy as np

import hi2
from hi2.text.tokenizer import Tokenizer as Ours


def test_the_tokenizer_is_stored_with_the_index(words, tmp_path):
    vectors = np.eye(3, dtype=np.float32)
    terms = hi2.BM25(per_doc=2, tokenizer=words)
    index = hi2.HybridIndex.build(vectors, ["red red", "blue", "green"], terms=terms, path=tmp_path / "a")
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.model.terms.tokenizer.fingerprint == Ours.load(words).fingerprint
    assert opened.search(vectors[2], "blue", clusters=0).ids.tolist() == [1]
