"""A few documents as a file, an index of them, and a collection with vectors, queries and judgements."""

from __future__ import annotations

import json

import numpy as np
import pytest

from commands import DOCUMENTS, run
from tiny_models import make_tiny


@pytest.fixture
def corpus_file(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS))
    return path


@pytest.fixture
def index(corpus_file, tmp_path):
    run("build", corpus_file, "-o", tmp_path / "a.hi2")
    return tmp_path / "a.hi2"


@pytest.fixture(scope="session")
def folder(topics, tmp_path_factory):
    """The topics as a BEIR folder with vectors, queries and judgements."""
    folder = tmp_path_factory.mktemp("data") / "topics"
    (folder / "qrels").mkdir(parents=True)
    (folder / "given").mkdir()
    lines = [json.dumps({"_id": f"d{i}", "text": text}) for i, text in enumerate(topics.texts)]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    asked = [f"{text} {i}" for i, text in enumerate(topics.queries)]
    asked[7] = asked[360].upper()  # one question is in both train and test
    lines = [json.dumps({"_id": f"q{i}", "text": text}) for i, text in enumerate(asked)]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    grades = [[f"q{i}\td{d}\t1" for d in own] for i, own in enumerate(topics.positives)]
    for name, part in (("train", slice(0, 300)), ("dev", slice(300, 350)), ("test", slice(350, 400))):
        (folder / "qrels" / f"{name}.tsv").write_text("\n".join(line for own in grades[part] for line in own))
    np.save(folder / "given" / "corpus.npy", topics.vectors)
    np.save(folder / "given" / "queries.npy", topics.query_vectors)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return make_tiny(tmp_path_factory.mktemp("models"))
