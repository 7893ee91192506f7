"""What does each step towards ranking by meaning and words bring? One index per analyzer, searched in several ways.

    python benchmarks/hybrid_steps.py scifact insuranceqa hotpotqa arxiv

Prints nDCG@10 (of 10 hits), Recall@100 (of 100 hits), the median time of a search for 10 hits on one thread and the
bytes per document, on the test questions of benchmarks/questions. ``tuned`` learns the weight from 200 dev questions.
Collections are read from the folder HI2_DATA; without embeddings, the built-in encoder makes them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hi2
from hi2.evaluation.collections import open_collection
from hi2.state.index_state import State
from hi2.tuning.word_weight import learn_weight

QUESTIONS = Path(__file__).parent / "questions"
ANALYZERS = ("wordpiece", "words", "english")
N_TUNING, N_TIMED, REPEATS = 200, 300, 3


class Questions:
    def __init__(self, folder: Path, listed: dict[str, Any], queries: dict[str, str], vectors: np.ndarray) -> None:
        places = {id: row for row, id in enumerate(queries)}
        judged: dict[str, dict[str, float]] = {}
        for line in (folder / "qrels" / f"{listed['split']}.tsv").read_text().splitlines()[1:]:
            query, document, grade = line.split("\t")
            judged.setdefault(query, {})[document] = float(grade)
        self.texts = [queries[id] for id in listed["ids"]]
        self.vectors = vectors[[places[id] for id in listed["ids"]]]
        self.grades = [{id: grade for id, grade in judged[id].items() if grade > 0} for id in listed["ids"]]


def ndcg(found: list[str], grades: dict[str, float]) -> float:
    discounts = 1 / np.log2(np.arange(2, 12))
    gains = np.array([grades.get(id, 0.0) for id in found[:10]])
    ideal = np.sort(list(grades.values()))[::-1][:10]
    return float(gains @ discounts[: len(gains)] / (ideal @ discounts[: len(ideal)]))


def measure(index: hi2.HybridIndex, asked: Questions, **setting: Any) -> str:
    ten = index.search(asked.vectors, asked.texts, k=10, **setting).ids.tolist()
    hundred = index.search(asked.vectors, asked.texts, k=100, **setting).ids.tolist()
    quality = np.mean([ndcg(ids, own) for ids, own in zip(ten, asked.grades, strict=True)])
    recall = np.mean([len(set(ids) & set(own)) / len(own) for ids, own in zip(hundred, asked.grades, strict=True)])
    times = np.empty((REPEATS, min(N_TIMED, len(asked.texts))))
    for repeat in range(REPEATS):
        for i in range(times.shape[1]):
            begin = time.perf_counter()
            index.search(asked.vectors[i], asked.texts[i], k=10, **setting)
            times[repeat, i] = time.perf_counter() - begin
    return f"{quality:.4f}  {recall:.4f}  {1e6 * np.median(np.median(times, axis=0)):6.0f} µs"


def without_notes(index: hi2.HybridIndex) -> hi2.HybridIndex:
    """Return the index with rare words that make no document a candidate, beside what it is filed under."""
    state: State = index._index.state
    terms = replace(state.model.terms, evidence=replace(state.model.evidence, rare=0))
    return hi2.HybridIndex(type(index._index)(replace(state, model=replace(state.model, terms=terms))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+")
    for name in parser.parse_args().collections:
        folder = Path(os.environ["HI2_DATA"]) / name
        source = open_collection(folder)
        ids, texts = (list(part) for part in zip(*((d.id, d.text) for d in source.documents()), strict=True))
        queries = source.queries()
        if (folder / "minilm").is_dir():
            vectors, query_vectors = (
                np.load(folder / "minilm" / f"{part}.npy", allow_pickle=False).astype(np.float32)
                for part in ("corpus", "queries")
            )
        else:
            encoder = hi2.StaticEncoder()
            vectors, query_vectors = encoder(texts), encoder(list(queries.values()))
        lists = json.loads((QUESTIONS / f"{name}.json").read_text())
        dev, test = (Questions(folder, lists[part], queries, query_vectors) for part in ("dev", "test"))
        for analyzer in ANALYZERS:
            terms = hi2.BM25(tokenizer=analyzer)
            index = hi2.HybridIndex.build(vectors, texts, ids=ids, terms=terms, keep_text=False, progress=False)
            size = index.info()["bytes_per_doc"]
            print(f"{name:12} {analyzer:10} lists alone (lexical=0)   {measure(index, test, lexical=0)}")
            print(f"{name:12} {analyzer:10} words rank too            {measure(index, test)}  {size:.0f} bytes")
            if analyzer != "english":
                continue
            few = dev.vectors[:N_TUNING], dev.texts[:N_TUNING], dev.grades[:N_TUNING]
            weight = learn_weight(index._index.state, *few).weight
            print(f"{name:12} {analyzer:10} tuned, lexical={weight:<5g}      {measure(index, test, lexical=weight)}")
            print(f"{name:12} {analyzer:10} no candidates by rare words {measure(without_notes(index), test)}")


if __name__ == "__main__":
    main()
