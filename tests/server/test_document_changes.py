"""Documents of one request may differ: with a vector, with text for the encoder, or with words alone."""

from __future__ import annotations

import numpy as np

import hi2
from hi2.server.document_changes import upsert
from hi2.server.schema import Document


def test_vectors_are_given_or_made(encoder):
    index = hi2.HybridIndex.create(encoder=encoder)
    given = encoder(["a boat"])[0].tolist()
    documents = [
        Document(id="boat", text="xyzzy", vector=given),
        Document(id="pear", text="a green pear", payload={"n": 1}),
        Document(id="bare", vector=given),
    ]
    assert upsert(documents)(index) == 3
    assert np.allclose(index.vectors("boat"), given, atol=1e-6)
    assert index.search("pears", k=1).ids.tolist() == ["pear"]
    assert index.get("pear")["payload"] == {"n": 1}
    assert "bare" in index


def test_without_an_encoder_words_alone_find_a_text():
    index = hi2.HybridIndex.create(dim=2)
    upsert([Document(id=1, text="the red ship"), Document(id=2, text="the blue ship", vector=[1.0, 0.0])])(index)
    assert index.search(None, "red").ids.tolist() == [1]
    assert np.isnan(index.vectors(1)).all()
