"""What do codes stand for? Documents as their codec sees them, and what exhaustive search over those finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hi2.codecs.codec import Codec
from hi2.training.examples import best_rows
from hi2.types import I64, Array, Floats

DEPTH = 100
_ROWS_AT_A_TIME = 16_384


def reconstructed(codec: Codec, codes: Array, base: Floats | None) -> Floats:
    """Return the vectors (n, dim) that product codes stand for, on top of ``base`` where they are residual."""
    books = codec.arrays["codebooks"]
    rotation = codec.arrays.get("rotation")
    out: Floats = np.empty((len(codes), codec.dim), np.float32)
    places = np.arange(len(books))
    for begin in range(0, len(codes), _ROWS_AT_A_TIME):
        words = books[places, codes[begin : begin + _ROWS_AT_A_TIME]].reshape(-1, books.shape[0] * books.shape[2])
        own = words @ rotation if rotation is not None else words[:, : codec.dim]
        out[begin : begin + len(own)] = own
    return out if base is None else out + base


def found_by_codec(queries: Floats, documents: Floats, wanted: Sequence[I64]) -> float:
    """Return the share of what is wanted among the best hundred."""
    return found_and_ranked(queries, documents, wanted)[0]


def found_and_ranked(queries: Floats, documents: Floats, wanted: Sequence[I64]) -> tuple[float, float]:
    """Return the share of what is wanted among the best hundred, and nDCG of these."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    shares, ranked = [], []
    for begin in range(0, len(queries), 64):
        best = best_rows(queries[begin : begin + 64] @ documents.T, min(DEPTH, len(documents)))
        for targets, rows in zip(wanted[begin : begin + len(best)], best, strict=True):
            hits = np.isin(rows, targets)
            shares.append(hits.sum() / len(targets))
            ranked.append(discounts[: len(rows)][hits].sum() / discounts[: len(targets)].sum())
    return float(np.mean(shares)), float(np.mean(ranked))
