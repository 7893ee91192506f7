"""Do tuned profiles keep their promise, what do words gain, is adaptive search better, and what does a filter cost?

    python benchmarks/control.py tune scifact hotpotqa insuranceqa [--vectors DIR]
    python benchmarks/control.py words scifact hotpotqa insuranceqa
    python benchmarks/control.py adapt scifact hotpotqa insuranceqa
    python benchmarks/control.py filter arxiv --vectors DIR [--peers]
    python benchmarks/control.py show hotpotqa

Collections are read from the folder HI2_DATA. Everything is tuned on dev questions, or on a seeded share of train, and
reported on test questions with one thread. ``tune`` compares the promise of profiles for 95 % and 99 % with what they
reach: agreement@100 without labels, and the share of brute force's Recall@100 with labels. ``words`` learns the weight
of words from some dev questions and measures it on the others, 200 times; once more where every second question has
the words of another. ``adapt`` compares adaptive search with the best fixed setting that scores as many documents (up
to 1 % more), by paired t-tests, and times the weighing of lists. ``filter`` measures filters that keep 50 % to 0.01 %
of the documents. ``show`` prints as Markdown what adaptive search does on ten questions, list by list. These three
rank by vectors alone.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import hi2
from hi2 import _native
from hi2.evaluation.significance import paired_p
from hi2.evaluation.task import Questions, Task, load_task
from hi2.progress import Progress
from hi2.search.effort import DEFAULT_LEXICAL, resolve_effort
from hi2.search.execute import execute
from hi2.state.benefit import Benefit
from hi2.tuning.judged import read_relevant
from hi2.tuning.targets import learn_benefit
from hi2.tuning.word_weight import WEIGHTS, measure_weights, weigh

K = 100
FILTER_SHARES = (0.5, 0.1, 0.01, 0.001, 0.0001)
N_TAUGHT = (30, 60, 120, 200)
LISTS = Path(__file__).parent / "questions"
RNG = np.random.default_rng(0)


def nearest(task: Task, questions: Questions) -> list[set[int]]:
    """Return the 100 nearest documents of every question."""
    return [set(np.argpartition(-(task.vectors @ v), K)[:K].tolist()) for v in questions.vectors]


def agreement(hits: hi2.Hits, best: list[set[int]]) -> np.ndarray:
    """Return the share of the 100 nearest that was found, per question."""
    return np.array([len(set(hits[i].ids.tolist()) & own) / K for i, own in enumerate(best)])


def recall(task: Task, questions: Questions, rows: list[list[int]]) -> np.ndarray:
    """Return Recall@100 per question."""
    found = [sum(gain > 0 for gain in task.gains(questions, i, own)) for i, own in enumerate(rows)]
    return np.array(found) / [max(sum(g > 0 for g in questions.judged.ideal(id)), 1) for id in questions.ids]


def half_width(values: np.ndarray) -> float:
    """Return half the width of the bootstrap 95 % interval of the mean."""
    means = [RNG.choice(values, len(values)).mean() for _ in range(1000)]
    return float(np.diff(np.percentile(means, [2.5, 97.5]))[0] / 2)


def tune(task: Task, index: hi2.HybridIndex) -> None:
    best = nearest(task, task.test)
    labels = relevant_rows(task)
    for measure, relevant in (("agreement", None), ("share of recall", labels)):
        for target in (0.95, 0.99):
            begin = time.perf_counter()
            try:
                index.tune(
                    task.tune.vectors, task.tune.texts, relevant=relevant, target=target, k=K, progress=False, threads=1
                )
            except hi2.InvalidParameter as error:
                print(f"{task.name} {measure} {target}: {error}")
                continue
            spent = time.perf_counter() - begin
            profile = index.profiles["tuned"]
            hits = index.search(task.test.vectors, task.test.texts, k=K, profile="tuned", threads=1)
            if relevant is None:
                kept = agreement(hits, best)
            else:
                whole = index.search(
                    task.test.vectors, task.test.texts, k=K, clusters=index.model.n_clusters, lexical=profile.lexical
                )
                ideal = recall(task, task.test, [whole[i].ids.tolist() for i in range(len(best))]).mean()
                kept = recall(task, task.test, [hits[i].ids.tolist() for i in range(len(best))]) / ideal
            floor = target - 0.005 - half_width(kept)
            print(
                f"{task.name} {measure} {target}: promised {profile.promise['recall']:.4f}, test {kept.mean():.4f} "
                f"({'holds' if kept.mean() >= floor else 'BROKEN'}: at least {floor:.4f}), "
                f"{np.mean(hits.n_scored):,.0f} documents, {profile.arguments()}, tuned in {spent:.0f} s",
                flush=True,
            )


def relevant_rows(task: Task) -> list[list[int]]:
    """Return the rows of the documents that are relevant to each tuning question."""
    rows = {id: row for row, id in enumerate(task.ids)}
    return [[rows[own] for own in task.tune.judged.relevant(id)] for id in task.tune.ids]  # type: ignore[attr-defined]


def words(task: Task, index: hi2.HybridIndex) -> None:
    """Print nDCG@10 of the weight that some of the tuning questions teach, on the others."""
    texts = list(task.tune.texts)
    mixed = [texts[i - 2] if i % 2 else text for i, text in enumerate(texts)]
    grades = read_relevant(relevant_rows(task), len(texts))
    default = WEIGHTS.index(DEFAULT_LEXICAL)
    for name, asked in ((task.name, texts), (f"{task.name}, half of the words wrong", mixed)):
        values = measure_weights(index._index.state, task.tune.vectors, asked, grades, threads=1)
        print(f"{name}: " + ", ".join(f"{w:g} {v:.4f}" for w, v in zip(WEIGHTS, values.mean(axis=0), strict=True)))
        for n in N_TAUGHT:
            if n > len(values) - 40:  # too few are left to measure on
                continue
            draws = []
            for _ in range(200):
                order = RNG.permutation(len(values))
                own, others = weigh(values[order[:n]]), values[order[n:]].mean(axis=0)
                found = others[WEIGHTS.index(own.weight)]
                draws.append((others[0], others[default], found, own.weight, own.gain, own.gain_over_default))
            zero, plain, found, weights, gain, over = np.array(draws).T
            low, middle, high = np.percentile(weights, [5, 50, 95])
            print(
                f"{name}, {n} questions: 0 {zero.mean():.4f}, default {plain.mean():.4f}, learned {found.mean():.4f}; "
                f"weights {low:g} to {high:g}, median {middle:g}; "
                f"gain said {100 * gain.mean():.2f}, found {100 * (found - zero).mean():.2f}; "
                f"over the default said {100 * over.mean():.2f}, found {100 * (found - plain).mean():.2f}, "
                f"{100 * np.percentile(found - plain, 5):.2f} or less in one of 20",
                flush=True,
            )


def learned_benefit(task: Task, index: hi2.HybridIndex) -> Benefit:
    """Return what tuning learns about the collection without labels."""
    return learn_benefit(index._index.state, task.tune.vectors, task.tune.texts, k=K)


def adapt(task: Task, index: hi2.HybridIndex) -> None:
    best = nearest(task, task.test)
    learned = learned_benefit(task, index)
    state: Any = index._index.state

    def run(**setting: Any) -> tuple[float, np.ndarray, np.ndarray, float]:
        effort = resolve_effort(index.model, k=K, lexical=0, **setting)
        begin = time.perf_counter()
        hits = execute(state, task.test.vectors, task.test.texts, effort, threads=1)
        spent = 1e6 * (time.perf_counter() - begin) / len(best)
        rows = [hits[i].ids.tolist() for i in range(len(best))]
        return float(np.mean(hits.n_scored)), agreement(hits, best), recall(task, task.test, rows), spent

    fixed = []
    for clusters in sorted({*range(25), *(int(24 * 1.1**i) for i in range(40))}):
        for per_doc in (0, 3, 5, 8, 15):
            if (clusters or per_doc) and clusters <= index.model.n_clusters:
                fixed.append((*run(clusters=clusters, per_doc=per_doc), clusters, per_doc))
    for share in (0.1, 0.05, 0.02, 0.01, 0.005, 0.002):
        cost, found, recalled, spent = run(adaptive=share, benefit=learned)
        rivals = [own for own in fixed if own[0] <= 1.01 * cost]
        for name, place, mine in (("agreement@100", 1, found), ("Recall@100", 2, recalled)):
            rival = max(rivals, key=lambda own: own[place].mean())
            least = min((own[0] for own in fixed if own[place].mean() >= mine.mean()), default=float("nan"))
            print(
                f"{task.name} adaptive={share}: {cost:,.0f} documents, {spent:.0f} µs, {name} {mine.mean():.4f}; fixed "
                f"clusters={rival[4]} per_doc={rival[5]} at {rival[0]:,.0f}, {rival[3]:.0f} µs: "
                f"{rival[place].mean():.4f}, "
                f"p = {paired_p(mine, rival[place]):.1g}; a fixed setting needs {least:,.0f}",
                flush=True,
            )
    terms = [index.model.terms.query_terms([text], 32)[1] for text in task.test.texts]
    # Chances this high open the nearest clusters alone: what is left is the weighing.
    effort = resolve_effort(index.model, k=K, adaptive=0.99995, benefit=learned, lexical=0).native
    begin = time.perf_counter()
    for vector, own in zip(task.test.vectors, terms, strict=True):
        _native.admission(index.model.native, state.snapshot.native, vector, own, effort)
    spent = 1e6 * (time.perf_counter() - begin) / len(terms)
    begin = time.perf_counter()
    for vector in task.test.vectors:
        index.model.native.probe(vector, 16)
    probed = 1e6 * (time.perf_counter() - begin) / len(terms)
    print(f"{task.name}: weighing {spent:.1f} µs per query, against {probed:.1f} µs to find 16 clusters", flush=True)


def show(task: Task, index: hi2.HybridIndex) -> None:
    """Print for ten questions how far each list is read, and how many of its documents are among the 100 nearest."""
    learned, share = learned_benefit(task, index), 0.01
    state: Any = index._index.state
    model, segment = index.model, state.snapshot.segments[0].segment
    labels = segment.labels()
    best = nearest(task, task.test)
    for i in np.linspace(0, len(best) - 1, 10).astype(int):
        vector, text = task.test.vectors[i], task.test.texts[i]
        terms = model.terms.query_terms([text], 32)[1]
        effort = resolve_effort(model, k=K, adaptive=share, benefit=learned, lexical=0).native
        bins, opened, term_bins = _native.admission(model.native, state.snapshot.native, vector, terms, effort)
        own = bins[labels]
        wanted = np.isin(segment.rows, list(best[i]))
        scored = np.isin(labels, opened)
        names = model.terms.tokenizer.names(text)
        found = int((scored & wanted).sum())
        rows = [("clusters, opened whole", len(opened), int(scored.sum()), found)]
        for term, end in zip(terms.tolist(), term_bins.tolist(), strict=True):
            docs = segment.native.term_list(term)[0]
            if len(docs):
                taken = docs[own[docs] < end]
                scored[taken] = True
                said = f"{names[term]} ({len(docs):,} documents)"
                rows.append((said, int((bins < end).sum()), len(taken), int(wanted[taken].sum())))
        found = int((scored & wanted).sum())
        print(f"**{text}** {int(scored.sum()):,} documents scored, {found} of the 100 nearest found.\n")
        print("| list | down to cluster | documents | of the 100 nearest |\n|---|---:|---:|---:|")
        for said, reach, n, hits in rows:
            print(f"| {said} | {reach:,} of {model.n_clusters:,} | {n:,} | {hits} |")
        print()


def measure_filters(task: Task, index: hi2.HybridIndex, peers: bool) -> None:
    questions = task.test
    values = RNG.permutation(len(task.vectors))
    index = hi2.HybridIndex.build(
        task.vectors,
        task.texts,
        clusters=index.model.clusters,
        terms=index.model.terms,
        codec=index.model.codec,
        refine=index.model.refine,
        payload=[{"rank": int(value)} for value in values],
        threads=1,
        progress=False,
    )
    others = _peers(task) if peers else {}
    plain, spent = _time_searches(lambda v, t: index.search(v, t, k=K, lexical=0), questions)
    unfiltered = np.mean([len(set(own) & best) / K for own, best in zip(plain, nearest(task, questions), strict=True)])
    print(f"{task.name} unfiltered: agreement {unfiltered:.4f}, median {spent:.0f} µs", flush=True)
    for share in FILTER_SHARES:
        limit = round(share * len(values))
        mask = values < limit
        rows = np.flatnonzero(mask)
        truth = []
        for vector in questions.vectors:
            scores = task.vectors[rows] @ vector
            truth.append(set(rows[np.argsort(-scores, kind="stable")[:K]].tolist()))
        text = f"rank < {limit}"
        begin = time.perf_counter()
        index.search(questions.vectors[0], questions.texts[0], k=K, filter=text, lexical=0)
        first = 1e3 * (time.perf_counter() - begin)
        found, spent = _time_searches(
            lambda v, t, text=text: index.search(v, t, k=K, filter=text, lexical=0), questions
        )
        assert all(len(own) == min(K, limit) for own in found)
        share_found = np.mean([len(set(own) & best) / len(best) for own, best in zip(found, truth, strict=True)])
        said = [f"hi2 {share_found:.4f} {spent:.0f} µs (first use {first:.1f} ms)"]
        for name, ask in others.items():
            own, taken = _time_searches(lambda v, t, ask=ask, rows=rows: ask(v, rows), questions)
            hit = np.mean([len(set(ids) & best) / len(best) for ids, best in zip(own, truth, strict=True)])
            short = sum(len(ids) < min(K, limit) for ids in own)
            said.append(
                f"{name} {hit:.4f} {taken:.0f} µs" + (f" ({short} questions short of {min(K, limit)})" if short else "")
            )
        print(f"{task.name} keeping {share:.2%}: " + "; ".join(said), flush=True)


def _time_searches(search: Any, questions: Questions) -> tuple[list[list[int]], float]:
    found, spent = [], []
    for vector, text in zip(questions.vectors, questions.texts, strict=True):
        begin = time.perf_counter()
        hits = search(vector, text)
        spent.append(1e6 * (time.perf_counter() - begin))
        found.append(hits.ids.tolist() if isinstance(hits, hi2.Hits) else hits)
    return found, float(np.median(spent))


def _peers(task: Task) -> dict[str, Any]:
    import faiss
    from usearch.index import Index

    faiss.omp_set_num_threads(1)
    n, dim = task.vectors.shape
    ivf = faiss.index_factory(dim, f"IVF{int(2 * n**0.5)},Flat", faiss.METRIC_INNER_PRODUCT)
    ivf.train(task.vectors[RNG.permutation(n)[:100_000]])
    ivf.add(task.vectors)
    graph = Index(ndim=dim, metric="ip", connectivity=16)
    graph.add(np.arange(n), task.vectors, threads=1)
    cached: dict[int, Any] = {}

    def by_faiss(vector: np.ndarray, rows: np.ndarray) -> list[int]:
        selector = cached.setdefault(len(rows), faiss.IDSelectorBatch(rows.astype(np.int64)))
        params = faiss.SearchParametersIVF(sel=selector, nprobe=32)
        return [int(row) for row in ivf.search(vector[None], K, params=params)[1][0] if row >= 0]

    def by_usearch(vector: np.ndarray, rows: np.ndarray) -> list[int]:
        """The Python binding has no predicate, so search for more hits and drop those that do not pass."""
        mask = cached.setdefault(-len(rows), np.isin(np.arange(n), rows))
        found = graph.search(vector, min(n, round(K * n / len(rows) * 1.2)) if len(rows) > 0.005 * n else 20_000).keys
        return found[mask[found]][:K].tolist()

    return {"faiss IVF-Flat, nprobe=32, IDSelectorBatch": by_faiss, "usearch, more and thrown away": by_usearch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["tune", "words", "adapt", "filter", "show"])
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    for name in given.collections:
        folder = Path(os.environ["HI2_DATA"]) / name
        vectors = given.vectors or folder / "minilm"
        listed = {"questions": LISTS} if given.part == "words" else {"limit": given.limit}
        task = load_task(folder, vectors=vectors, progress=Progress(False), **listed)
        index = hi2.HybridIndex.build(task.vectors, task.texts, threads=1, progress=False)
        if given.part == "filter":
            measure_filters(task, index, given.peers)
        else:
            {"tune": tune, "words": words, "adapt": adapt, "show": show}[given.part](task, index)


if __name__ == "__main__":
    main()
