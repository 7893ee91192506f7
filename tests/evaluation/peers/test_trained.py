"""Trained parts are used on the vectors that they were trained on, and on no others."""

from __future__ import annotations

import pytest

import hi2
from hi2.evaluation.peers.trained import DistillVQ, Light
from hi2.store.trained_parts import Parts, checksum


@pytest.fixture
def folder(things, tmp_path):
    index = hi2.HybridIndex.build(things.vectors, things.texts, clusters=hi2.KMeans(8), codec=hi2.PQ(4))
    record = {"data": {"vectors": checksum(things.vectors)}, "n_documents": len(things.texts)}
    Parts(index.model, record).save(tmp_path / "parts")
    return tmp_path / "parts"


def test_an_index_is_built_of_the_trained_parts(things, folder):
    peer = things.build(Light(folder))
    parts = Parts.load(folder)
    assert peer.index.model.specs()["codec"] == str(parts.codec.spec)
    assert (peer.index.model.clusters.anchors == parts.clusters.anchors).all()
    assert peer.index.model.terms is not None
    assert things.build(DistillVQ(folder)).index.model.terms is None
    vector = things.vectors[0]
    assert peer.asked(vector) is vector  # nothing was taught to map queries


def test_other_vectors_are_refused(things, folder):
    with pytest.raises(hi2.InvalidParameter, match="trained on these 400 vectors"):
        Light(folder).build(things.vectors[::-1], things.texts, threads=1)
