"""Folders in the layout of BEIR are read."""

from __future__ import annotations

from collection_files import BEIR, write
from hi2.evaluation.collections import open_collection


def test_beir(tmp_path):
    collection = open_collection(write(tmp_path / "mine", BEIR))
    assert collection.name == "mine"
    assert [(d.id, d.text) for d in collection.documents()] == [("d1", "A one"), ("d2", "two")]
    assert collection.queries() == {"q1": "first", "q2": "second"}
    assert collection.splits == ["test"]
    judged = collection.judgements("test")
    assert judged.queries == ["q1", "q2"]
    assert judged.gains("q1", ["d2", "d1", "d9"]) == [0, 2, 0]
    assert judged.ideal("q1") == [2]
    manifest = collection.manifest()
    assert set(manifest) == {"corpus.jsonl", "queries.jsonl", "test.tsv"}
    (tmp_path / "mine" / "corpus.jsonl").write_text(BEIR["corpus.jsonl"] + " ")
    assert collection.manifest()["corpus.jsonl"] != manifest["corpus.jsonl"]
