"""How good are codes? Decode them to vectors, and measure exhaustive search over these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.codecs.codec import Codec
from hi2.training.examples import top_columns
from hi2.types import I64, Array, Floats

DEPTH = 100
_ROWS_AT_A_TIME = 16_384


def reconstruct(codec: Codec, codes: Array, base: Floats | None) -> Floats:
    """Return the vectors (n, dim) that product codes decode to; ``base`` (n, dim) is added for residual codes."""
    books = codec.arrays["codebooks"]
    rotation = codec.arrays.get("rotation")
    out: Floats = np.empty((len(codes), codec.dim), np.float32)
    subspaces = np.arange(len(books))
    for begin in range(0, len(codes), _ROWS_AT_A_TIME):
        words = books[subspaces, codes[begin : begin + _ROWS_AT_A_TIME]].reshape(-1, books.shape[0] * books.shape[2])
        vectors = words @ rotation if rotation is not None else words[:, : codec.dim]
        out[begin : begin + len(vectors)] = vectors
    return out if base is None else out + base


def recall(queries: Floats, documents: Floats, targets: Sequence[I64]) -> float:
    """Return Recall@100 of exhaustive search; ``targets`` are the rows each query should find."""
    return recall_and_ndcg(queries, documents, targets)[0]


def recall_and_ndcg(queries: Floats, documents: Floats, targets: Sequence[I64]) -> tuple[float, float]:
    """Return Recall@100 and nDCG@100 of exhaustive search; ``targets`` are the rows each query should find."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    recalls, ndcgs = [], []
    for begin in range(0, len(queries), 64):
        best = top_columns(queries[begin : begin + 64] @ documents.T, min(DEPTH, len(documents)))
        for wanted, rows in zip(targets[begin : begin + len(best)], best, strict=True):
            hits = np.isin(rows, wanted)
            recalls.append(hits.sum() / len(wanted))
            ndcgs.append(discounts[: len(rows)][hits].sum() / discounts[: len(wanted)].sum())
    return float(np.mean(recalls)), float(np.mean(ndcgs))
