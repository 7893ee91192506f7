"""Write the lists of questions of the four collections. README.md says what each list is for.

    python benchmarks/questions/make.py

Collections are read from the folder HI2_DATA. The same files give the same lists.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from hi2.evaluation.collections import open_collection
from hi2.evaluation.task import normalised, tuning_questions

FOLDER = Path(__file__).parent
COLLECTIONS = ("hotpotqa", "insuranceqa", "scifact", "arxiv")
#: Questions of test that may be looked at, and how many follow that only a last measurement uses.
N_TEST = N_FINAL = 1000


def question_lists(folder: Path) -> dict[str, dict[str, object]]:
    """Return the lists of the collection in a folder."""
    collection = open_collection(folder)
    texts = collection.queries()
    asked = list(collection.judgements("test").queries)
    repeated = {normalised(texts[id]) for id in asked}
    _, held, _ = tuning_questions(collection, "test", None)
    split = "dev" if "dev" in collection.splits else "train"
    dev = [id for id in held if id not in asked and normalised(texts[id]) not in repeated]
    lists = {"dev": {"split": split, "ids": dev}, "test": {"split": "test", "ids": asked[:N_TEST]}}
    final = asked[N_TEST : N_TEST + N_FINAL]
    return {**lists, "final": {"split": "test", "ids": final}} if final else lists


def as_text(lists: dict[str, dict[str, object]]) -> str:
    """Return the text of a file, with one list per line."""
    return "{\n" + ",\n".join(f'"{name}": {json.dumps(own)}' for name, own in lists.items()) + "\n}\n"


if __name__ == "__main__":
    for name in COLLECTIONS:
        made = question_lists(Path(os.environ["HI2_DATA"]) / name)
        (FOLDER / f"{name}.json").write_text(as_text(made), encoding="utf-8")
