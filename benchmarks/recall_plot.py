"""Draws the plot of the README: recall against documents scored, for HI² and for clusters alone.

    python benchmarks/recall_plot.py docs/images/recall.svg

Needs matplotlib, and the collections hotpotqa and insuranceqa in the folder HI2_DATA.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from unsupervised import K, exact_top, load

import hi2
from hi2.evaluation.measures import mean_recall

mpl.use("Agg")
from matplotlib import pyplot as plt

CLUSTER_COUNTS = (0, 1, 2, 4, 8, 16, 32, 64, 128)


def draw(axes, name: str) -> None:
    ids, texts, vectors, query_texts, query_vectors, relevant = load(name)
    flat = mean_recall(exact_top(vectors, query_vectors, ids), relevant, k=K)
    index = hi2.HybridIndex.build(vectors, texts, ids=ids, terms=hi2.BM25(tokenizer="wordpiece"), bags=False)
    for label, given, color in (("HI² (clusters and terms)", query_texts, "C0"), ("IVF (clusters alone)", None, "C1")):
        points = []
        for probes in CLUSTER_COUNTS:
            hits = index.search(query_vectors, given, k=K, clusters=probes)
            recall = mean_recall(hits.ids.tolist(), relevant, k=K)
            if hits.n_scored.mean() > 0:
                points.append((100 * hits.n_scored.mean() / len(ids), recall))
                if given is not None and probes == index.model.clusters.default_probes:
                    axes.plot(*points[-1], "o", color=color, markersize=9, zorder=3, label="HI², default setting")
        axes.plot(*np.array(points).T, ".-", color=color, label=label)
    axes.axhline(flat, color="0.4", linestyle="--", label="brute force (100 %)")
    axes.set(xscale="log", xlabel="documents scored, %", title=f"{name}, {len(ids):,} documents")
    axes.grid(alpha=0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, name in zip(axes, ("hotpotqa", "insuranceqa"), strict=True):
        draw(ax, name)
    axes[0].set_ylabel("Recall@100 on the judgements")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(arguments.out)


if __name__ == "__main__":
    main()
