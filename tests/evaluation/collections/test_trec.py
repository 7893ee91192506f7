"""Topics and judgements of TREC are read."""

from __future__ import annotations

import pytest

import hi2
from collection_files import TREC, write
from hi2.evaluation.collections import open_collection


def test_trec(tmp_path):
    collection = open_collection(write(tmp_path, {**TREC, "corpus.npy": "vectors, not documents"}))
    assert [d.id for d in collection.documents()] == ["FT1", "FT2"]
    assert collection.queries() == {"301": "International Organized Crime", "w1": "plain title"}
    assert collection.splits == ["robust"]
    judged = collection.judgements("robust")
    assert judged.gains("301", ["FT2", "FT1"]) == [0, 1]


def test_a_line_without_a_title_is_named(tmp_path):
    collection = open_collection(write(tmp_path, {**TREC, "topics.web.txt": "w1\tplain\n\nw2\t \n"}))
    with pytest.raises(hi2.InvalidParameter, match=r"topics\.web\.txt, line 3: expected a number, a tab and a title"):
        collection.queries()
