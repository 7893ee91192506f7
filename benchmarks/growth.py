"""Is an index that grew as good as one that was built at once, and what do small commits cost?

    python benchmarks/growth.py hotpotqa [--documents 60000]

Grows an empty index by additions of 1 to 1,000 documents and compares it with one that is built of the same documents:
Recall@100, nDCG@10 and the median time of a search for 10 hits on one thread, in turns, before and after ``merge()``.
Then one document at a time is added to the built index on disk: fsyncs and milliseconds of a commit, and of a refresh.
Collections are read from the folder HI2_DATA; they need minilm vectors and the dev list of benchmarks/questions.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import hi2
from hi2.evaluation.collections import open_collection
from hi2.tuning.word_weight import ndcg

QUESTIONS = Path(__file__).parent / "questions"
N_TIMED, REPEATS, N_COMMITS = 300, 5, 30


def read(folder: Path, n: int) -> tuple[np.ndarray, list[str], np.ndarray, list[str], list[dict[int, float]]]:
    """Return vectors and texts of n documents, and vectors, texts and judgements of the dev questions about them."""
    source = open_collection(folder)
    documents = [document for document, _ in zip(source.documents(), range(n), strict=False)]
    places = {document.id: row for row, document in enumerate(documents)}
    listed = json.loads((QUESTIONS / f"{folder.name}.json").read_text())["dev"]
    judged: dict[str, dict[int, float]] = {}
    for line in (folder / "qrels" / f"{listed['split']}.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        if document in places and float(grade) > 0:
            judged.setdefault(query, {})[places[document]] = float(grade)
    queries = source.queries()
    rows = {id: row for row, id in enumerate(queries)}
    asked = [id for id in listed["ids"] if id in judged]
    vectors, query_vectors = (
        np.load(folder / "minilm" / f"{name}.npy", allow_pickle=False) for name in ("corpus", "queries")
    )
    return (
        vectors[: len(documents)].astype(np.float32),
        [document.text for document in documents],
        query_vectors[[rows[id] for id in asked]].astype(np.float32),
        [queries[id] for id in asked],
        [judged[id] for id in asked],
    )


def grow(vectors: np.ndarray, texts: list[str]) -> hi2.HybridIndex:
    index, random, at = hi2.HybridIndex.create(dim=vectors.shape[1]), np.random.default_rng(0), 0
    while at < len(texts):
        end = at + int(random.choice([1, 10, 100, 1000], p=[0.4, 0.2, 0.2, 0.2]))
        index.add(vectors[at:end], texts[at:end])
        at = end
    return index


def milliseconds(indexes: list[hi2.HybridIndex], vectors: np.ndarray, texts: list[str]) -> list[float]:
    """Return the median time of a search in each index; they take turns."""
    spent = np.zeros((len(indexes), REPEATS, min(N_TIMED, len(texts))))
    for repeat in range(REPEATS):
        for number, index in enumerate(indexes):
            for i in range(spent.shape[2]):
                begin = time.perf_counter()
                index.search(vectors[i], texts[i], k=10)
                spent[number, repeat, i] = time.perf_counter() - begin
    return [1000 * float(own) for own in np.median(np.median(spent, axis=1), axis=1)]


def small_commits(vectors: np.ndarray, texts: list[str], folder: Path) -> None:
    index = hi2.HybridIndex.build(vectors, texts, path=folder, progress=False)
    reader, fsync, waited = hi2.HybridIndex.open(folder), os.fsync, [0.0, 0]

    def counted(fd: int) -> None:
        begin = time.perf_counter()
        fsync(fd)
        waited[0] += time.perf_counter() - begin
        waited[1] += 1

    os.fsync = counted
    rows = []
    for i in range(N_COMMITS):
        index.add(vectors[i : i + 1], [f"{texts[i]} new{i}"])
        waited[:] = [0.0, 0]
        begin = time.perf_counter()
        index.commit()
        spent, n_fsyncs = time.perf_counter() - begin - waited[0], waited[1]
        begin = time.perf_counter()
        reader.refresh()
        rows.append((1000 * spent, n_fsyncs, 1000 * (time.perf_counter() - begin)))
    os.fsync = fsync
    own, fsyncs, refreshed = np.array(rows).T
    print(f"commit of one document: {np.median(own):.1f} ms beside fsyncs (at most {own.max():.1f})", end=", ")
    print(f"at most {fsyncs.max():.0f} fsyncs; refresh {np.median(refreshed):.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--documents", type=int, default=60_000)
    given = parser.parse_args()
    for name in given.collections:
        folder = Path(os.environ["HI2_DATA"]) / name
        vectors, texts, query_vectors, asked, judged = read(folder, given.documents)
        grown = grow(vectors, texts)
        built = hi2.HybridIndex.build(vectors, texts, progress=False)
        for label, index in (("grown", grown), ("built", built)):
            hits = index.search(query_vectors, asked, k=100)
            recall = np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(hits.ids.tolist(), judged, strict=True)])
            sizes = f"{index.model.n_clusters} clusters, {index.info()['n_segments']} segments"
            print(f"{name} {label}: R@100 {recall:.4f}, nDCG@10 {ndcg(hits, judged).mean():.4f}, {sizes}", flush=True)
        for label in ("as it is", "after merge()"):
            one, other = milliseconds([grown, built], query_vectors, asked)
            print(f"{name} {label}: grown {one:.3f} ms, built {other:.3f} ms, {one / other:.2f} times", flush=True)
            grown.merge()
        with tempfile.TemporaryDirectory() as temporary:
            small_commits(vectors, texts, Path(temporary) / "index")


if __name__ == "__main__":
    main()
