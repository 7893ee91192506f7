"""The vectors of the wordllama package are read from its files."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import hi2
from hi2.encoders.wordllama import WordLlamaEncoder


def test_wordllama_loads_the_vectors_of_its_package():
    pytest.importorskip("safetensors", reason="needs the extra 'wordllama'")
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("needs the extra 'wordllama'")
    encoder = WordLlamaEncoder()
    vectors = encoder(["a car on the road", "an automobile in the street", "prime numbers"])
    assert vectors.shape == (3, 256)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert not encoder([""]).any()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[wordllama\]"):
        WordLlamaEncoder()
