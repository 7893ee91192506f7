"""A collection in a folder, with given vectors and judgements, and the task made of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hi2.evaluation.task import load_task
from lab_plan import SILENT


@pytest.fixture(scope="session")
def folder(corpus, tmp_path_factory):
    """A BEIR folder with given vectors. The relevant documents of a query are its two nearest."""
    folder = tmp_path_factory.mktemp("data") / "docs"
    (folder / "qrels").mkdir(parents=True)
    documents = (json.dumps({"_id": id, "text": t}) for id, t in zip(corpus.ids, corpus.texts, strict=True))
    (folder / "corpus.jsonl").write_text("\n".join(documents))
    queries = (json.dumps({"_id": f"q{i}", "text": t}) for i, t in enumerate(corpus.query_texts))
    (folder / "queries.jsonl").write_text("\n".join(queries))
    nearest = np.argsort(-(corpus.query_vectors @ corpus.vectors.T), axis=1)[:, :2]
    lines = [f"q{i}\t{corpus.ids[d]}\t{2 - r}" for i, own in enumerate(nearest) for r, d in enumerate(own)]
    half = len(corpus.query_texts) // 2
    (folder / "qrels" / "train.tsv").write_text("\n".join(lines[: 2 * half]))
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines[2 * half :]))
    vectors = folder / "given"
    vectors.mkdir()
    np.save(vectors / "corpus.npy", corpus.vectors)
    np.save(vectors / "queries.npy", corpus.query_vectors)
    return folder


@pytest.fixture(scope="session")
def task(folder):
    return load_task(folder, vectors=folder / "given", progress=SILENT)
