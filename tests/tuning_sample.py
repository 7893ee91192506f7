"""What do the tests of tuning and of profiles share? Documents around topics, and queries of the same kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import hi2
from hi2.changes.open_index import OpenIndex

K = 20


def make_sample():
    """Return an index of documents around topics, each topic with a word of its own; their vectors; queries; labels."""
    random = np.random.default_rng(4)
    topics = random.standard_normal((60, 16))
    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)]

    def draw(n):
        own = random.integers(0, 60, n)
        vectors = topics[own] + 0.9 * random.standard_normal((n, 16))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32), [f"{words[i]} {words[(i * 7) % 60]}" for i in own], own

    vectors, texts, labels = draw(2000)
    terms = hi2.BM25(tokenizer=hi2.WordTokenizer())
    fitted = hi2.HybridIndex.build(
        vectors, texts, clusters=hi2.KMeans(50), terms=terms, codec=hi2.Flat(), progress=False
    ).model
    # All queries count their words alike, however far they are, so that one weight is the best for all.
    sure = replace(fitted.terms, evidence=replace(fitted.evidence, cosine_spread=0.0))
    index = hi2.HybridIndex.build(
        vectors, texts, clusters=fitted.clusters, terms=sure, codec=fitted.codec, progress=False
    )
    return index, vectors, draw(240), labels


def fresh(made):
    return hi2.HybridIndex(OpenIndex(made[0]._index.state))


def half(queries, part):
    return queries[0][part::2], queries[1][part::2]


def agreement(index, vectors, queries, **given):
    hits = index.search(queries[0], queries[1], k=K, **given)
    best = np.argsort(-(queries[0] @ vectors.T), axis=1)[:, :K]
    return np.mean([len(set(a.tolist()) & set(b.tolist())) / K for a, b in zip(hits.ids, best, strict=True)]), hits
