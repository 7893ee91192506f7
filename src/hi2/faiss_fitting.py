"""How does faiss train for us? With a fixed number of threads and our seeds, imported only when something is fitted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hi2.errors import MissingExtra
from hi2.types import Floats

_forked = False


def _after_fork() -> None:
    global _forked  # noqa: PLW0603 - a process is forked or it is not
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def pinned_faiss(threads: int) -> Iterator[Any]:
    """Yield the faiss module with its thread count set, and restore the count afterwards.

    A forked process uses one thread: OpenMP's others did not survive the fork, and waiting for them never ends.
    """
    if _forked:
        threads = 1
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra("Fitting needs faiss; install it with: pip install faiss-cpu") from error
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


def train_codebooks(faiss: Any, sample: Floats, subspaces: int, bits: int) -> Floats:
    """Return PQ codebooks (subspaces, 2^bits, sub_dim) fitted to ``sample``.

    With no more points than codewords the points themselves are the codewords.
    """
    entries = 1 << bits
    sub_dim = sample.shape[1] // subspaces
    if len(sample) <= entries:
        parts = sample.reshape(len(sample), subspaces, sub_dim).transpose(1, 0, 2)
        filler = np.repeat(parts[:, -1:], entries - len(sample), axis=1)
        return np.ascontiguousarray(np.concatenate([parts, filler], axis=1))
    pq = faiss.ProductQuantizer(sample.shape[1], subspaces, bits)
    pq.cp.min_points_per_centroid = 1
    pq.train(sample)
    codebooks: Floats = faiss.vector_to_array(pq.centroids).reshape(subspaces, entries, sub_dim)
    return codebooks
