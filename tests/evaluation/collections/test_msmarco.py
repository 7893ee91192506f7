"""MS MARCO's files are read."""

from __future__ import annotations

from collection_files import MSMARCO, write
from hi2.evaluation.collections import open_collection


def test_ms_marco(tmp_path):
    collection = open_collection(write(tmp_path, MSMARCO))
    assert [(d.id, d.text) for d in collection.documents()] == [("7", "a passage"), ("8", "another\tone")]
    assert list(collection.queries()) == ["100", "200"]
    assert collection.splits == ["dev.small", "train"]
    assert collection.judgements("dev.small").relevant("100") == ["8"]
