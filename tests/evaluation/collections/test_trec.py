"""Topics and judgements of TREC are read."""

from __future__ import annotations

from collection_files import TREC, write
from hi2.evaluation.collections import open_collection


def test_trec(tmp_path):
    collection = open_collection(write(tmp_path, {**TREC, "corpus.npy": "vectors, not documents"}))
    assert [d.id for d in collection.documents()] == ["FT1", "FT2"]
    assert collection.queries() == {"301": "International Organized Crime", "w1": "plain title"}
    assert collection.splits == ["robust"]
    judged = collection.judgements("robust")
    assert judged.gains("301", ["FT2", "FT1"]) == [0, 1]
