"""The encoder of the package sums the vectors of a text's tokens."""

from __future__ import annotations

import numpy as np

import hi2
from hi2.encoders.encoder import PROBE


def test_vectors_are_sums_of_token_vectors_at_unit_length(static):
    text = "The quick brown fox jumps over lazy dogs"
    tokens, _ = static.tokenizer.encode([text])
    table = static._vectors.astype(np.float64) * static._scales[:, None]
    expected = table[tokens].sum(0)
    np.testing.assert_allclose(static([text])[0], expected / np.linalg.norm(expected), atol=1e-5)
    assert static.dim == 256
    assert static._vectors.dtype == np.int8


def test_the_vector_of_a_text_does_not_depend_on_its_batch(static, corpus):
    together = static(corpus.texts[:300])
    alone = np.concatenate([static([text]) for text in corpus.texts[:20]])
    assert (together[:20] == alone).all()
    assert (together == hi2.StaticEncoder(threads=3)(corpus.texts[:300])).all()


def test_texts_without_tokens_have_the_zero_vector(static):
    assert not static(["", "\x00", "[CLS]"]).any()
    assert static([]).shape == (0, 256)


def test_similar_texts_have_similar_vectors(static):
    a, b, c = static(["a cat sat on the mat", "the kitten is lying on a rug", "quarterly tax returns of companies"])
    assert a @ b > a @ c


def test_vectors_of_tokens_equal_vectors_of_their_texts(static):
    texts = ["one text", "", "another one"]
    np.testing.assert_array_equal(static.average(*static.tokenizer.encode(texts)), static(texts))


def test_the_vectors_are_those_that_indexes_were_built_with(static):
    """An index that names this encoder needs exactly these vectors."""
    np.testing.assert_allclose(static([PROBE])[0, :4], [-0.1124, -0.1499, -0.056, -0.08], atol=1e-4)
