"""How does cost grow with the collection, and how close is a search to the limits of the machine?

    python benchmarks/scaling.py growth arxiv [--sizes 10000 30000 100000 250000]
    python benchmarks/scaling.py limits hotpotqa
    python benchmarks/scaling.py synthetic 5000000

``growth`` measures nested slices of a collection. Each system runs at the fastest setting that reaches agreement@100 =
0.9, and at the fastest that reaches 99 % of Flat's Recall@100, on training questions. It reports the exponents of
documents scored and of latency. Latency excludes the fixed overhead, measured over a handful of documents.
``limits`` reports documents scored per microsecond, bytes read per query, and the share of this machine's memory
bandwidth that is used. ``synthetic`` builds, opens and searches an index of made-up documents from iterators, and
reports time, peak memory and bytes per document.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peers import Data, K, Questions, load, search_all, search_times

import hi2
from hi2.evaluation.measures import agreement, mean_recall
from hi2.evaluation.peers import PEERS, Peer, Setting
from hi2.evaluation.peers.hybrid import Hybrid

SYSTEMS = ("hi2", "faiss IVF-Flat", "faiss HNSW32")
#: Documents of the collection that the fixed overhead is measured on.
N_TINY_DOCS = 200


def n_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def first_documents(data: Data, n: int) -> Data:
    """Return the first n documents, and the questions whose relevant documents are all among them."""

    def kept(questions: Questions) -> Questions:
        rows = [i for i, relevant in enumerate(questions.relevant) if relevant and max(relevant) < n]
        return Questions(
            questions.vectors[rows], [questions.texts[i] for i in rows], [questions.relevant[i] for i in rows]
        )

    return Data(data.name, data.texts[:n], data.vectors[:n], kept(data.dev), kept(data.test))


@dataclass(frozen=True)
class Point:
    setting: Setting
    seconds: float
    scored: float
    recall: float
    agreement: float
    full: bool  # every question has k hits


def settings(peer: Peer, n: int) -> Sequence[Setting]:
    """Return the settings to try: the peer's sweep; for hi2 a wider one, with budgets that grow as √n."""
    if not isinstance(peer, Hybrid):
        return peer.sweep()
    return [
        {"clusters": clusters, "per_doc": per_doc, "budget": budget, "refine": depth}
        for clusters in (0, 2, 4, 8, 16, 32, 64, 128)
        for per_doc in (5, 10, 15)
        for budget in (None, *(int(factor * n**0.5) for factor in (2, 5, 10, 20)))
        for depth in (3, 6, 12)
    ]


def curve(peer: Peer, n: int, questions: Questions, exact: list[list[int]]) -> list[Point]:
    """Return the cost and the quality of every setting."""
    points = []
    pairs = list(zip(questions.vectors, questions.texts, strict=True))
    for setting in settings(peer, n):
        seconds = float(np.median(search_times(peer, questions, setting, range(len(pairs)))))
        hits = search_all(peer, questions, setting)
        scored = [peer.count_scored(vector, text, K, setting) or 0 for vector, text in pairs[:100]]
        recall = mean_recall(hits, questions.relevant, k=K)
        full = all(len(own) == K and -1 not in own for own in hits)
        points.append(Point(setting, seconds, float(np.mean(scored)), recall, agreement(hits, exact, k=K), full))
    return points


def exponent(sizes: list[int], costs: list[float]) -> str:
    if len(sizes) < 2 or min(costs) <= 0:
        return "?"
    return f"{np.polyfit(np.log(sizes), np.log(costs), 1)[0]:.2f}"


def growth(name: str, sizes: list[int], n_questions: int) -> None:
    data = load(name, 1_000_000, test="train")
    goals: dict[str, Callable[[Point, float], bool]] = {
        "agreement@100 0.9": lambda point, recall: point.agreement >= 0.9,
        "99 % of recall": lambda point, recall: point.recall >= 0.99 * recall,
    }
    rows: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    fixed: dict[str, float] = {}
    for n in (N_TINY_DOCS, *sizes):
        part = first_documents(data, n)
        questions = part.test if n > N_TINY_DOCS else data.test
        first, second = slice(0, n_questions), slice(n_questions, 2 * n_questions)
        held_out = Questions(questions.vectors[second], questions.texts[second], questions.relevant[second])
        questions = Questions(questions.vectors[first], questions.texts[first], questions.relevant[first])
        flat = PEERS["Flat"]()
        flat.build(part.vectors, part.texts, threads=n_threads())
        exact = search_all(flat, questions, {})
        recall = mean_recall(exact, questions.relevant, k=K)
        for system in SYSTEMS:
            peer = PEERS[system]()
            peer.build(part.vectors, part.texts, threads=n_threads())
            points = curve(peer, n, questions, exact)
            if n == N_TINY_DOCS:  # the fixed cost of a call
                fixed[system] = min(point.seconds for point in points if point.full)
                print(f"{system}: {1e6 * fixed[system]:.0f} µs on {n} documents")
                continue
            for goal, reached in goals.items():
                enough = [point for point in points if reached(point, recall)]
                if not enough:
                    print(f"{n:7d} {system:15s} {goal}: not reached", flush=True)
                    continue
                best = min(enough, key=lambda point: point.seconds)
                # The fastest of many settings is partly fast by luck, so it is timed again on other questions.
                every = range(len(held_out.texts))
                seconds = float(np.median([search_times(peer, held_out, best.setting, every) for _ in range(3)]))
                rows.setdefault((system, goal), []).append((n, seconds - fixed[system], best.scored))
                print(
                    f"{n:7d} {system:15s} {goal}: {1e6 * seconds:.0f} µs, {best.scored:.0f} scored, "
                    f"recall {best.recall / recall:.3f}, agreement {best.agreement:.3f}  {dict(best.setting)}",
                    flush=True,
                )
            if isinstance(peer, Hybrid):
                print_scored_by_lists(peer, n, questions)
    for (system, goal), costs in rows.items():
        ns = [n for n, _, _ in costs]
        print(
            f"{system}, {goal}: latency without the fixed part N^{exponent(ns, [s for _, s, _ in costs])}, "
            f"documents scored N^{exponent(ns, [count for _, _, count in costs])}"
        )


def print_scored_by_lists(peer: Hybrid, n: int, questions: Questions) -> None:
    """Print what clusters and terms cost at fixed settings, without a budget and with one."""
    parts = []
    for name, setting in (
        ("16 clusters", {"clusters": 16, "terms": 0}),
        ("all terms", {"clusters": 0}),
        ("all terms within 5·√N", {"clusters": 0, "budget": int(5 * n**0.5)}),
    ):
        pairs = list(zip(questions.vectors, questions.texts, strict=True))
        scored = np.mean([peer.count_scored(vector, text, K, setting) for vector, text in pairs])
        recall = mean_recall(search_all(peer, questions, setting), questions.relevant, k=K)
        parts.append(f"{name} {scored:.0f} (recall {recall:.3f})")
    print("        scored: " + ", ".join(parts), flush=True)


def bandwidth() -> float:
    """Return the bytes per second that one thread reads from memory, best of five."""
    block = np.ones(1 << 26, np.float64)
    best = 0.0
    for _ in range(5):
        start = time.perf_counter()
        block.max()
        best = max(best, block.nbytes / (time.perf_counter() - start))
    return best


def limits(name: str, clusters: int, per_doc: int, refine: int) -> None:
    data = load(name, 1000)
    peer: Any = PEERS["hi2"]()
    peer.build(data.vectors, data.texts, threads=n_threads())
    index: hi2.HybridIndex = peer.index
    setting = {"clusters": clusters, "per_doc": per_doc, "refine": refine}
    median = float(np.median(search_times(peer, data.test, setting, range(len(data.test.texts)))))
    pairs = list(zip(data.test.vectors, data.test.texts, strict=True))
    scored = float(np.mean([peer.count_scored(vector, text, K, setting) for vector, text in pairs]))
    info, model = index.info(), index.model
    assert model.refine is not None
    terms = info["terms"]
    assert model.terms is not None
    lengths = np.zeros(model.n_terms)
    for segment, _ in index._index.state.snapshot.native:
        keys, own = segment.term_lengths()
        lengths[keys] += own
    _, opened, _, _ = model.terms.query_terms(data.test.texts, 32)
    postings = info["bytes"]["terms"] / terms["n_postings"] * lengths[opened].sum() / len(pairs)
    read = {
        "codes": scored * model.codec.code_bytes,
        "refine": min(refine * K, scored) * model.refine.code_bytes,
        "centroids": model.n_clusters * model.dim,
        "postings": float(postings),
    }
    total, rate = sum(read.values()), bandwidth()
    used = total / median
    print(
        f"{name}: {1e6 * median:.0f} µs per query, {scored:.0f} documents scored, {scored / (1e6 * median):.1f} per µs"
    )
    print("bytes read: " + ", ".join(f"{part} {size:,.0f}" for part, size in read.items()) + f"; {total:,.0f} in all")
    print(f"bandwidth of one thread {rate / 1e9:.1f} GB/s; used {used / 1e9:.2f} GB/s = {used / rate:.1%}")


def synthetic(n: int, dim: int = 128) -> None:
    """Measure an index of vectors around made-up topics and words drawn by Zipf's law."""
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((5000, dim)).astype(np.float32)
    vocabulary = np.array([f"word{i}" for i in range(200_000)])
    batch = 50_000

    def vectors() -> Iterator[np.ndarray]:
        own = np.random.default_rng(1)
        for begin in range(0, n, batch):
            size = min(batch, n - begin)
            made = topics[own.integers(0, len(topics), size)] + own.standard_normal((size, dim), np.float32)
            yield (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)

    def texts() -> Iterator[str]:
        own = np.random.default_rng(2)
        for begin in range(0, n, batch):
            size = min(batch, n - begin)
            words = vocabulary[np.minimum(own.zipf(1.2, (size, 12)) - 1, len(vocabulary) - 1)]
            yield from (" ".join(row) for row in words)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        start = time.perf_counter()
        words = hi2.BM25(tokenizer=hi2.WordTokenizer())
        hi2.HybridIndex.build(vectors(), texts(), terms=words, keep_text=False, path=path, progress=False).close()
        built = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        start = time.perf_counter()
        index = hi2.HybridIndex.open(path)
        opened = time.perf_counter() - start
        query_vectors = next(vectors())[:500].astype(np.float32)
        own = texts()
        query_texts = [" ".join(next(own).split()[:5]) for _ in query_vectors]
        for budget in (None, int(10 * n**0.5)):
            spent, scored, first = [], [], []
            for row, (vector, text) in enumerate(zip(query_vectors, query_texts, strict=True)):
                start = time.perf_counter()
                hits = index.search(vector, text, k=K, budget=budget)
                spent.append(time.perf_counter() - start)
                scored.append(hits.n_scored)
                first.append(len(hits.ids) > 0 and hits.ids[0] == row)
            print(
                f"budget {budget}: median search {1e6 * np.median(spent):.0f} µs, {np.mean(scored):.0f} documents "
                f"scored, itself first {np.mean(first):.1%}"
            )
        info = index.info()
        parts = ", ".join(
            f"{part} {info['bytes'][part] / n:.1f}"
            for part in ("codes", "refine", "terms", "ids")
            if part in info["bytes"]
        )
        print(f"{n:,} documents of {dim} dimensions: built in {built:.0f} s ({n / built:,.0f} a s), peak {peak:.1f} GB")
        print(f"{info['bytes_per_doc']:.0f} bytes per document ({parts}), opened in {1e3 * opened:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    grow = verbs.add_parser("growth")
    grow.add_argument("collection")
    grow.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 250_000])
    grow.add_argument("--queries", type=int, default=200)
    limit = verbs.add_parser("limits")
    limit.add_argument("collection")
    for name, default in (("clusters", 4), ("per-doc", 15), ("refine", 4)):
        limit.add_argument(f"--{name}", type=int, default=default)
    verbs.add_parser("synthetic").add_argument("n", type=int)
    arguments = parser.parse_args()
    if arguments.verb == "growth":
        growth(arguments.collection, arguments.sizes, arguments.queries)
    elif arguments.verb == "limits":
        limits(arguments.collection, arguments.clusters, arguments.per_doc, arguments.refine)
    else:
        synthetic(arguments.n)


if __name__ == "__main__":
    main()
