"""How much better are trained parts than the unsupervised index they started from?

    python benchmarks/supervised.py insuranceqa --vectors DIR --trained trained/insuranceqa

The collection is read from the folder HI2_DATA. --trained has one folder per method, written by ``hi2 train``. Prints
two comparisons of Recall@100 on the test questions, with paired t-tests. The first scores every document, by distilled
OPQ and by the OPQ it started from. The second compares whole indexes with the same clusters and bytes. The terms per
document of the trained index are chosen on the tuning questions, so that it scores at most as many documents as the
unsupervised one.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

import hi2
from hi2.evaluation.significance import paired_p
from hi2.evaluation.task import Questions, Task, load_task
from hi2.progress import Progress
from hi2.selectors.terms import BM25
from hi2.store.trained_parts import Parts

K = 100
CLUSTER_COUNTS = (0, 4, 16)


def measure(index: hi2.HybridIndex, task: Task, questions: Questions, **setting: int) -> tuple[np.ndarray, float]:
    """Return Recall@100 of every question, and the mean number of documents scored."""
    hits = index.search(questions.vectors, questions.texts, k=K, threads=1, **setting)
    recall = []
    for i in range(len(questions.ids)):
        found = sum(gain > 0 for gain in task.gains(questions, i, hits[i].ids.tolist()))
        recall.append(found / max(sum(gain > 0 for gain in questions.judged.ideal(questions.ids[i])), 1))
    return np.array(recall), float(np.mean(hits.n_scored))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    folder = Path(os.environ["HI2_DATA"]) / given.collection
    task = load_task(folder, vectors=given.vectors or folder / "minilm", limit=given.limit, progress=Progress(False))
    for method in ("light", "hi2"):
        if not (given.trained / method / "parts.json").exists():
            continue
        parts = Parts.load(given.trained / method)
        clusters = replace(parts.clusters, centroids=parts.clusters.anchors)
        common = {"bags": False, "threads": 1, "progress": False}
        before = hi2.HybridIndex.build(
            task.vectors,
            task.texts,
            clusters=clusters,
            terms=BM25(tokenizer="wordpiece"),
            codec=parts.codec.spec,
            **common,
        )
        after = hi2.HybridIndex.build(
            task.vectors,
            task.texts,
            clusters=parts.clusters,
            terms=parts.terms,
            codec=parts.codec,
            term_weights=parts.term_weights,
            **common,
        )
        every = {"clusters": before.model.n_clusters, "per_doc": 0}
        a, _ = measure(before, task, task.test, **every)
        b, _ = measure(after, task, task.test, **every)
        print(f"{task.name} {method}, {len(a)} test questions, {parts.codec.code_bytes} bytes a code")
        print(f"  OPQ {a.mean():.4f}, distilled {b.mean():.4f}, p = {paired_p(a, b):.2g}")
        for n in CLUSTER_COUNTS:
            for per_doc in (7, 15):
                a, cost = measure(before, task, task.test, clusters=n, per_doc=per_doc)
                limit = measure(before, task, task.tune, clusters=n, per_doc=per_doc)[1]
                tried = [(*measure(after, task, task.tune, clusters=n, per_doc=p), p) for p in range(1, 16)]
                fitting = [(found.mean(), p) for found, own, p in tried if own <= limit]
                if not fitting:
                    continue
                _, chosen = max(fitting)
                b, own = measure(after, task, task.test, clusters=n, per_doc=chosen)
                print(
                    f"  clusters={n:2d}: unsupervised per_doc={per_doc:2d} {a.mean():.4f} at {cost:6,.0f} documents, "
                    f"supervised per_doc={chosen:2d} {b.mean():.4f} at {own:6,.0f}, p = {paired_p(a, b):.2g}"
                )


if __name__ == "__main__":
    main()
