"""How do recall, latency and size compare with other systems? Measured interleaved, in one process, on one thread.

    python benchmarks/peers.py hotpotqa insuranceqa arxiv --out results/ [--systems hi2 ScaNN …] [--queries 1000]

Every system is built with all cores, swept over its own settings on the dev questions, and measured on the test
questions at its operating points. An operating point is the fastest swept setting that reaches a share of Flat's
Recall@100 on dev. A search of hi2 includes tokenization and reading ids. Collections are read from the folder HI2_DATA.
If one has no embeddings, the built-in encoder makes them. Writes a JSON file, a table and two plots per collection.
Needs the extras ``peers`` and ``plots``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hi2
from hi2.evaluation.collections import open_collection
from hi2.evaluation.measures import agreement, mean_recall
from hi2.evaluation.peers import PEERS, Peer, Setting
from hi2.evaluation.report import plain_log_axis

K = 100
SYSTEMS = [
    "faiss IVF-Flat",
    "faiss IVF-OPQ",
    "faiss IVF-PQfs+refine",
    "faiss HNSW32",
    "faiss HNSW32-SQ8",
    "usearch",
    "ScaNN",
    "hi2",
    "hi2 compact",
]
#: Shares of Flat's Recall@100 on dev that operating points must reach.
TARGET_SHARES = (0.95, 0.97, 0.99, 0.995, 1.0)
REPEATS = 3
#: Questions that one system answers before the next one takes its turn.
CHUNK_SIZE = 100


@dataclass
class Questions:
    vectors: np.ndarray
    texts: list[str]
    relevant: list[list[int]]


@dataclass
class Data:
    name: str
    texts: list[str]
    vectors: np.ndarray
    dev: Questions
    test: Questions


def load(name: str, limit: int, test: str = "test") -> Data:
    """Read a collection. ``test`` is the split that is measured."""
    folder = Path(os.environ["HI2_DATA"]) / name
    collection = open_collection(folder)
    ids, texts = (list(part) for part in zip(*((d.id, d.text) for d in collection.documents()), strict=True))
    queries = collection.queries()
    if (folder / "minilm").is_dir():
        vectors = np.load(folder / "minilm" / "corpus.npy", allow_pickle=False).astype(np.float32)
        query_vectors = np.load(folder / "minilm" / "queries.npy", allow_pickle=False).astype(np.float32)
    else:
        encoder = hi2.StaticEncoder()
        vectors, query_vectors = encoder(texts), encoder(list(queries.values()))
    rows, places = {id: row for row, id in enumerate(queries)}, {id: row for row, id in enumerate(ids)}

    def questions(split: str) -> Questions:
        judged: Any = collection.judgements(split)
        names = judged.queries[:limit]
        relevant = [[places[doc] for doc in judged.relevant(id) if doc in places] for id in names]
        return Questions(query_vectors[[rows[id] for id in names]], [queries[id] for id in names], relevant)

    return Data(name, texts, vectors, questions("dev"), questions(test))


def search_all(peer: Peer, questions: Questions, setting: Setting) -> list[list[int]]:
    pairs = zip(questions.vectors, questions.texts, strict=True)
    return [peer.search(vector, text, K, setting).tolist() for vector, text in pairs]


def search_times(peer: Peer, questions: Questions, setting: Setting, rows: range) -> list[float]:
    measured = []
    for i in rows:
        vector, text = questions.vectors[i], questions.texts[i]
        start = time.perf_counter()
        peer.search(vector, text, K, setting)
        measured.append(time.perf_counter() - start)
    return measured


def sweep(peer: Peer, data: Data, flat_dev: float) -> list[dict[str, Any]]:
    """Return recall and latency of every setting on dev. Settings far slower than a lossless one are skipped."""
    tried = []
    timed = range(min(len(data.dev.texts), 200))
    enough = np.inf
    for setting in peer.sweep():
        median = float(np.median(search_times(peer, data.dev, setting, timed)))
        if median > 1.5 * enough:
            continue
        recall = mean_recall(search_all(peer, data.dev, setting), data.dev.relevant, k=K)
        if recall >= TARGET_SHARES[-1] * flat_dev:
            enough = min(enough, median)
        tried.append(
            {"setting": dict(setting), "dev_recall": recall, "dev_share": recall / flat_dev, "seconds": median}
        )
    return tried


def operating_points(tried: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fastest setting for each share that is reached, and the one with the highest recall as 'highest'."""
    points = {}
    for share in TARGET_SHARES:
        enough = [row for row in tried if row["dev_share"] >= share]
        if enough:
            points[str(share)] = min(enough, key=lambda row: row["seconds"])
    best = max(row["dev_share"] for row in tried)
    points["highest"] = min((row for row in tried if row["dev_share"] == best), key=lambda row: row["seconds"])
    return points


def measure(
    peers: dict[str, Peer], points: dict[str, dict[str, Any]], data: Data, exact: list[list[int]]
) -> list[dict]:
    """Return test recall, agreement and latency of every operating point, interleaved in chunks of questions."""
    runs: dict[tuple[str, str], dict[str, Any]] = {}
    for name, own in points.items():
        for share, point in own.items():
            key = (name, json.dumps(point["setting"]))
            runs.setdefault(key, {"system": name, "setting": point["setting"], "reached": [], "times": []})
            runs[key]["reached"].append(share)
    n = len(data.test.texts)
    for _ in range(REPEATS):
        for begin in range(0, n, CHUNK_SIZE):
            rows = range(begin, min(begin + CHUNK_SIZE, n))
            for run in runs.values():
                peer = peers[run["system"]]
                search_times(peer, data.test, run["setting"], range(begin, min(begin + 5, n)))  # warm-up
                run["times"].append((begin, search_times(peer, data.test, run["setting"], rows)))
    results = []
    for run in runs.values():
        peer, setting = peers[run["system"]], run["setting"]
        per_query = np.full((REPEATS, n), np.inf)
        for number, (begin, measured) in enumerate(run.pop("times")):
            per_query[number // -(-n // CHUNK_SIZE), begin : begin + len(measured)] = measured
        hits = search_all(peer, data.test, setting)
        scored = [
            peer.count_scored(vector, text, K, setting)
            for vector, text in zip(data.test.vectors[:200], data.test.texts[:200], strict=True)
        ]
        results.append(
            {
                **run,
                "recall": mean_recall(hits, data.test.relevant, k=K),
                "agreement@10": agreement(hits, exact, k=10),
                "agreement@100": agreement(hits, exact, k=K),
                "median_ms": 1e3 * float(np.median(per_query)),
                "p99_ms": 1e3 * float(np.percentile(per_query, 99)),
                "p99_of_questions_ms": 1e3 * float(np.percentile(np.median(per_query, axis=0), 99)),
                "scored": None if scored[0] is None else float(np.mean(scored)),  # type: ignore[arg-type]
            }
        )
    return results


def run(name: str, systems: list[str], limit: int, out: Path) -> None:
    data = load(name, limit)
    n = len(data.texts)
    print(f"== {name}: {n} documents of {data.vectors.shape[1]} dimensions", flush=True)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    flat = PEERS["Flat"]()
    flat.build(data.vectors, data.texts, threads=threads)
    exact = search_all(flat, data.test, {})
    flat_dev = mean_recall(search_all(flat, data.dev, {}), data.dev.relevant, k=K)
    flat_test = mean_recall(exact, data.test.relevant, k=K)
    print(f"Flat Recall@{K}: dev {flat_dev:.4f}, test {flat_test:.4f}", flush=True)
    peers: dict[str, Peer] = {"Flat": flat}
    report: dict[str, Any] = {"collection": name, "n": n, "flat": {"dev": flat_dev, "test": flat_test}, "builds": {}}
    swept: dict[str, list[dict[str, Any]]] = {"Flat": [{"setting": {}, "dev_share": 1.0, "seconds": 1.0}]}
    for system in systems:
        if system == "Flat":
            continue
        peer = peers[system] = PEERS[system]()
        start = time.perf_counter()
        peer.build(data.vectors, data.texts, threads=threads)
        seconds = time.perf_counter() - start
        report["builds"][system] = {"seconds": seconds, "bytes": peer.n_bytes, "bytes_per_doc": peer.n_bytes / n}
        swept[system] = sweep(peer, data, flat_dev)
        best = max(row["dev_share"] for row in swept[system])
        print(
            f"{system}: built in {seconds:.1f} s, {peer.n_bytes / n:.0f} bytes per document, reaches {best:.3f}",
            flush=True,
        )
    report["builds"]["Flat"] = {"bytes": flat.n_bytes, "bytes_per_doc": flat.n_bytes / n}
    report["swept"] = swept
    points = {system: operating_points(rows) for system, rows in swept.items()}
    gc.freeze()
    report["results"] = measure(peers, points, data, exact)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(report, indent=1))
    (out / f"{name}.md").write_text(table(report))
    print_results(report)
    plot(report, out)


def print_results(report: dict[str, Any]) -> None:
    for row in sorted(report["results"], key=lambda row: (row["system"], row["recall"])):
        share = row["recall"] / report["flat"]["test"]
        size = report["builds"][row["system"]]["bytes_per_doc"]
        scored = "" if row["scored"] is None else f", {row['scored']:.0f} scored"
        print(
            f"{row['system']:22s} {','.join(row['reached']):28s} test {share:.3f} (R@100 {row['recall']:.4f}, "
            f"agreement@10 {row['agreement@10']:.3f}, @100 {row['agreement@100']:.3f}) {row['median_ms']:.3f} ms "
            f"(p99 {row['p99_ms']:.2f}; of questions {row['p99_of_questions_ms']:.2f}), {size:.0f} B{scored}  "
            f"{row['setting']}",
            flush=True,
        )


def table(report: dict[str, Any]) -> str:
    """Return the results as a Markdown table: systems in build order, settings by increasing recall."""
    flat = report["flat"]["test"]
    lines = [
        f"### {report['collection']} ({report['n']:,} documents; Flat {flat:.4f} on test)",
        "",
        "| system | build | bytes per document | reaches on dev | Recall@100 on test (share) | agreement@10, @100 "
        "| median ms | p99 ms | scored |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for system, built in {"Flat": report["builds"]["Flat"], **report["builds"]}.items():
        seconds = f"{built['seconds']:.0f} s" if "seconds" in built else ""
        own = [row for row in report["results"] if row["system"] == system]
        for row in sorted(own, key=lambda row: row["reached"][0]):
            reached = ", ".join("best" if r == "highest" else f"{100 * float(r):g} %" for r in row["reached"])
            scored = "" if row["scored"] is None else f"{row['scored']:,.0f}"
            lines.append(
                f"| {system} | {seconds} | {built['bytes_per_doc']:,.0f} | {'' if system == 'Flat' else reached} "
                f"| {row['recall']:.4f} ({row['recall'] / flat:.3f}) "
                f"| {row['agreement@10']:.3f}, {row['agreement@100']:.3f} "
                f"| {row['median_ms']:.3f} | {row['p99_ms']:.2f} | {scored} |"
            )
    return "\n".join(lines) + "\n"


def plot(report: dict[str, Any], out: Path) -> None:
    """Plot recall against latency, and recall against bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for kind, label in (("latency", "median ms for one query, one thread"), ("bytes", "bytes per document")):
        figure, axes = pyplot.subplots(figsize=(8, 4.5))
        for system in report["builds"]:
            rows = sorted((r for r in report["results"] if r["system"] == system), key=lambda r: r["median_ms"])
            x = [r["median_ms"] if kind == "latency" else report["builds"][system]["bytes_per_doc"] for r in rows]
            ours: dict[str, Any] = {"lw": 3, "color": "0.5" if "compact" in system else "black"}
            style = (
                ours if system.startswith("hi2") else {"lw": 1, "color": "tab:cyan"} if system == "Flat" else {"lw": 1}
            )
            axes.plot(x, [r["recall"] for r in rows], "o-", ms=4, label=system, **style)
        axes.axhline(report["flat"]["test"], color="0.6", lw=0.8, ls="--")
        plain_log_axis(axes)
        axes.set(xlabel=label, ylabel="Recall@100", title=f"{report['collection']} ({report['n']:,})")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        figure.tight_layout()
        figure.savefig(out / f"{report['collection']}_{kind}.svg")
        pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--systems", nargs="+", choices=list(PEERS), default=SYSTEMS)
    parser.add_argument("--queries", type=int, default=1000, help="questions of each split at most")
    arguments = parser.parse_args()
    for name in arguments.collections:
        run(name, arguments.systems, arguments.queries, arguments.out)


if __name__ == "__main__":
    main()
