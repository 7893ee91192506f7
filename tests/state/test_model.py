"""A model is its fitted parts: as data it is equal, and parts that do not fit each other are refused."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import hi2
from hi2.store.manifest import serialise


def test_a_replaced_tokenizer_is_refused(corpus, tmp_path):
    """Even if its checksum in the manifest is corrected: the terms were made with another tokenizer."""
    index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a")
    index.close()
    path = tmp_path / "a" / "model" / "tokenizer.json"
    other = path.read_bytes().replace(b'"lowercase":true', b'"lowercase":null')
    assert other != path.read_bytes()
    path.write_bytes(other)
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    entry = manifest["model"]["files"]["tokenizer.json"]
    entry |= {"sha256": hashlib.sha256(other).hexdigest(), "bytes": len(other)}
    (tmp_path / "a" / "manifest.json").write_bytes(serialise(manifest))
    with pytest.raises(hi2.FormatError, match="not the tokenizer it was built with"):
        hi2.HybridIndex.open(tmp_path / "a")


def test_fitted_parts_of_another_dimension_are_rejected(corpus):
    model = hi2.HybridIndex.build(corpus.vectors, corpus.texts, codec=hi2.PQ(5)).model
    other = np.random.default_rng(0).standard_normal((20, 8)).astype(np.float32)
    with pytest.raises(hi2.InvalidParameter, match=r"'clusters'.*dimension 8.*40"):
        hi2.HybridIndex.build(other, terms=None, clusters=model.clusters)
    with pytest.raises(hi2.InvalidParameter, match=r"'codec'.*dimension 8.*40"):
        hi2.HybridIndex.build(other, terms=None, codec=model.codec)
