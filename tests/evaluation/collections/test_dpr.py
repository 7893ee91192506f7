"""Natural Questions in DPR's files are read, and judged by their answers."""

from __future__ import annotations

from collection_files import DPR, write
from hi2.evaluation.collections import open_collection


def test_natural_questions_in_the_format_of_dpr(tmp_path):
    collection = open_collection(write(tmp_path, DPR))
    passages = {document.id: document.text for document in collection.documents()}
    assert passages["1"] == 'Émile Zola Zola wrote "Nana" in 1880.'
    questions = {"dev-1": "which city", "test-1": "who wrote nana", "test-2": "where", "test-3": "who"}
    assert collection.queries() == questions
    judged = collection.judgements("test", passages=passages)
    assert judged.gains("test-1", ["2", "1"]) == [0, 1]
    assert judged.gains("test-1", ["1", "1"]) == [1, 0], "one hit is enough"
    assert judged.gains("test-2", ["1", "2"]) == [0, 0]
    assert judged.gains("test-3", ["1", "2"]) == [0, 0], "titles are not searched for answers"
    assert collection.judgements("dev", passages=passages).gains("dev-1", ["2"]) == [1]
