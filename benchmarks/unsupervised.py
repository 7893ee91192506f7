"""What are the recall and the cost of the unsupervised index, on collections with given vectors?

    python benchmarks/unsupervised.py hotpotqa insuranceqa [--out results.json]

Collections are read from the folder HI2_DATA. Each is measured with Flat; with HI² at default parameters and exact
scores, so that every miss is a miss of the lists; with IVF, plain and with boundary copies, at the same number of
documents scored; and with OPQ at 32 times compression, with candidate recall and codec loss reported separately.
--build-only measures only build time, peak memory and the time to open.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import hi2
from hi2.evaluation.collections import open_collection
from hi2.evaluation.measures import agreement, mean_recall

K = 100


def load(name: str) -> tuple[list[str], list[str], np.ndarray, list[str], np.ndarray, list[list[str]]]:
    folder = Path(os.environ["HI2_DATA"]) / name
    collection = open_collection(folder)
    ids, texts = zip(*((d.id, d.text) for d in collection.documents()), strict=True)
    vectors = np.load(folder / "minilm" / "corpus.npy", allow_pickle=False).astype(np.float32)
    queries = collection.queries()
    rows = {id: row for row, id in enumerate(queries)}
    judged: Any = collection.judgements("test")
    wanted = judged.queries
    query_vectors = np.load(folder / "minilm" / "queries.npy", allow_pickle=False).astype(np.float32)
    query_vectors = query_vectors[[rows[id] for id in wanted]]
    relevant = [judged.relevant(id) for id in wanted]
    return list(ids), list(texts), vectors, [queries[id] for id in wanted], query_vectors, relevant


def exact_top(vectors: np.ndarray, queries: np.ndarray, ids: list[str]) -> list[list[str]]:
    found = []
    for query in queries:
        scores = vectors @ query
        best = np.argpartition(-scores, K)[:K]
        found.append([ids[i] for i in best[np.argsort(-scores[best])]])
    return found


def result_row(name: str, hits: hi2.Hits, relevant: list[list[str]], exact: list[list[str]], n_docs: int) -> dict:
    found = hits.ids.tolist()
    return {
        "system": name,
        "scored": float(np.mean(hits.n_scored)),
        "scored_share": float(np.mean(hits.n_scored)) / n_docs,
        "R@10": mean_recall(found, relevant, k=10),
        "R@100": mean_recall(found, relevant, k=K),
        "agreement@10": agreement(found, exact, k=10),
        "agreement@100": agreement(found, exact, k=K),
    }


def ivf_scoring_at_least(index: hi2.HybridIndex, vectors: np.ndarray, target: float) -> hi2.Hits:
    """Search by clusters alone, with the fewest clusters that score at least ``target`` documents."""
    low, high = 1, index.model.n_clusters
    while low < high:
        middle = (low + high) // 2
        scored = np.mean(index.search(vectors, k=1, clusters=middle).n_scored)
        low, high = (low, middle) if scored >= target else (middle + 1, high)
    return index.search(vectors, k=K, clusters=low)


def measure(name: str) -> dict:
    ids, texts, vectors, query_texts, query_vectors, relevant = load(name)
    n_docs = len(ids)
    exact = exact_top(vectors, query_vectors, ids)
    flat = {"system": "Flat", "scored": n_docs, "scored_share": 1.0, "agreement@10": 1.0, "agreement@100": 1.0}
    flat |= {"R@10": mean_recall(exact, relevant, k=10), "R@100": mean_recall(exact, relevant, k=K)}
    rows = [flat]

    index = hi2.HybridIndex.build(
        vectors,
        texts,
        ids=ids,
        codec=hi2.Flat(),
        terms=hi2.BM25(tokenizer="wordpiece"),
        keep_text=False,
        bags=False,
    )
    hits = index.search(query_vectors, query_texts, k=K)
    rows.append(result_row("HI2 (defaults, Flat)", hits, relevant, exact, n_docs))
    rows.append(
        result_row(
            "IVF, as many scored",
            ivf_scoring_at_least(index, query_vectors, np.mean(hits.n_scored)),
            relevant,
            exact,
            n_docs,
        )
    )
    rows.append(
        result_row("terms alone", index.search(query_vectors, query_texts, k=K, clusters=0), relevant, exact, n_docs)
    )
    copied = hi2.HybridIndex.build(vectors, terms=None, ids=ids, clusters=hi2.KMeans(copies=2))
    copies = ivf_scoring_at_least(copied, query_vectors, np.mean(hits.n_scored))
    rows.append(result_row("IVF with boundary copies, as many scored", copies, relevant, exact, n_docs))
    for codec in (hi2.OPQ(), hi2.OPQ(residual=True)):
        small = hi2.HybridIndex.build(
            vectors,
            texts,
            ids=ids,
            codec=codec,
            clusters=index.model.clusters,
            terms=index.model.terms,
            keep_text=False,
            bags=False,
        )
        rows.append(
            result_row(f"HI2 ({codec})", small.search(query_vectors, query_texts, k=K), relevant, exact, n_docs)
        )
    candidates = rows[1]["R@100"]
    for entry in rows[-2:]:
        entry["candidate R@100"] = candidates
        entry["codec loss"] = candidates - entry["R@100"]
    return {"collection": name, "n_docs": n_docs, "rows": rows, "bytes": small.info()}


def build_cost(name: str) -> dict:
    """Return time and memory of one build on disk. Run it in a fresh process."""
    ids, texts, _, _, _, _ = load(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    vectors = Path(os.environ["HI2_DATA"]) / name / "minilm" / "corpus.npy"
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        hi2.HybridIndex.build(
            vectors, texts, ids=ids, codec=hi2.OPQ(), keep_text=False, path=Path(folder) / "index"
        ).close()
        built = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        opens = []
        for _ in range(5):
            start = time.perf_counter()
            hi2.HybridIndex.open(Path(folder) / "index")
            opens.append(time.perf_counter() - start)
    return {
        "build_seconds": built,
        "peak_rss_mb": peak / 1024,
        "rss_before_build_mb": before / 1024,
        "open_ms": 1000 * sorted(opens)[2],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--build-only", action="store_true", help="measure only the build, in this fresh process")
    arguments = parser.parse_args()
    results = []
    for name in arguments.collections:
        result = {"collection": name, **build_cost(name)} if arguments.build_only else measure(name)
        results.append(result)
        for entry in result.get("rows", []):
            print(
                f"{name:12s} " + "  ".join(f"{k}={v:.4f}" if isinstance(v, float) else f"{v}" for k, v in entry.items())
            )
        if "bytes" in result:
            print(f"{name:12s} bytes/doc {result['bytes']['bytes_per_doc']:.2f}, by part {result['bytes']['bytes']}")
        else:
            print(result)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
