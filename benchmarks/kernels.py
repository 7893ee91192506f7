"""What does each kernel cost, scalar against SIMD, in one interleaved run?

    python benchmarks/kernels.py

Reports nanoseconds per document: medians of repeated runs on one thread, with codes read in sequence and scattered over
a store larger than the caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import hi2
from hi2 import _native

N_DOCS = 400_000
N_SCATTERED = 20_000
REPEATS = 7


def nanoseconds(run: Callable[[], object], n: int) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) / n * 1e9


def report(name: str, runs: dict[str, tuple[Callable[[], object], int]]) -> None:
    times: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(REPEATS):
        for key, (run, n) in runs.items():
            times[key].append(nanoseconds(run, n))
    print(name + ": " + ", ".join(f"{key} {np.median(values):.1f} ns" for key, values in times.items()))


def codecs(rng: np.random.Generator) -> None:
    """Time the score of a document by every codec, at the SIMD level of this process (HI2_SIMD)."""
    vectors = rng.standard_normal((200_000, 384), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(len(vectors), dtype=np.uint32)
    spread = rng.permutation(rows)[:N_SCATTERED]
    bits = (len(vectors) - 1).bit_length()
    packed = _native.pack(rows.astype(np.uint64), bits)
    for spec in (hi2.Flat(), hi2.Half(), hi2.SQ8(), hi2.RaBitQ(), hi2.RaBitQ(bits=2), hi2.RaBitQ(bits=4)):
        codec = spec.fit(vectors[:10_000], threads=2)
        codes = codec.encode(vectors, threads=2)
        model = _native.Model(384, None, None, codec.native, False, None, False)
        segment = _native.Segment(len(vectors), codes, None, packed, bits, 0, None, None, 0, None)
        query = vectors[7]
        report(
            f"{spec}, {codec.code_bytes} bytes, {_native.simd_level()}",
            {
                "in sequence": (lambda m=model, s=segment, q=query: _native.score(m, s, q, False, rows), len(rows)),
                "scattered": (lambda m=model, s=segment, q=query: _native.score(m, s, q, False, spread), N_SCATTERED),
            },
        )


def clusters(rng: np.random.Generator) -> None:
    """Time the search for clusters: by bytes and then floats, by the full product, and for a batch of queries."""
    level = _native.simd_level()
    for n, dim in ((512, 384), (10_000, 768)):
        centroids = rng.standard_normal((n, dim), np.float32)
        centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
        queries = centroids[:64] + rng.standard_normal((64, dim), np.float32) / np.sqrt(dim)
        codec = hi2.Flat().fit(centroids[:1], threads=1)
        model = _native.Model(dim, centroids, centroids, codec.native, False, None, False)
        model.probe(queries[0], 16)
        report(
            f"16 of {n} clusters, {dim} dimensions, a query",
            {
                "by bytes": (lambda m=model, q=queries: [m.probe(one, 16) for one in q], 64),
                "full product": (lambda q=queries, c=centroids: [_native.dot(one[None], c, level) for one in q], 64),
                "32 queries by one product": (lambda m=model, q=queries[:32]: m.probe_together(q, 16), 32),
            },
        )


def main() -> None:
    rng = np.random.default_rng(0)
    docs = rng.integers(0, N_DOCS, N_SCATTERED).astype(np.uint32)
    levels = _native.simd_levels()

    rows = rng.standard_normal((N_DOCS, 384), np.float32)
    query = rows[:1].copy()
    report("dot, 384 floats, in sequence", {v: (lambda v=v: _native.dot(query, rows, v), N_DOCS) for v in levels})
    report(
        "dot, 384 floats, scattered",
        {v: (lambda v=v: _native.dot_gather(query[0], rows, docs, v), N_SCATTERED) for v in levels},
    )
    codes = rng.integers(0, 256, (4 * N_DOCS, 48), np.uint8)
    table = rng.standard_normal((48, 256), np.float32)
    none, one_code = np.zeros(0, np.uint32), codes[:1].copy()
    spread = rng.integers(0, len(codes), N_SCATTERED).astype(np.uint32)
    report(
        "pq, 48 bytes, in sequence",
        {v: (lambda v=v: _native.pq_scores(table, codes, none, v), 4 * N_DOCS) for v in levels},
    )
    whole = {v: (lambda v=v: _native.pq_scores(table, one_code, spread % 1, v), N_SCATTERED) for v in levels}
    report("pq, 48 bytes, one document again and again", whole)
    columns = rng.standard_normal((8, 256), np.float32)
    piece = table[0, :8].copy()
    report(
        "pq, table of one subspace of 8 floats",
        {v: (lambda v=v: [_native.pq_table(piece, columns, v) for _ in range(1000)], 1000) for v in levels},
    )

    codecs(rng)
    clusters(rng)

    universe = N_DOCS
    for share in (0.0005, 0.01, 0.2):
        own = np.sort(rng.choice(universe, int(share * universe), replace=False)).astype(np.uint32)
        zeros = np.zeros(len(own), np.uint32)
        _, offsets, blob = _native.encode_lists(zeros, own, zeros, universe, 4)
        bits = 8 * int(offsets[-1]) / len(own)
        key_bits, offset_bits = 1, max(1, int(offsets[-1]).bit_length())
        directory = (
            _native.pack(np.zeros(1, np.uint64), key_bits),
            key_bits,
            _native.pack(offsets, offset_bits),
            offset_bits,
            1,
        )
        row_bits = (universe - 1).bit_length()
        store = np.zeros((universe, 1), np.uint8)
        positions = _native.pack(np.arange(universe, dtype=np.uint64), row_bits)
        segment = _native.Segment(universe, store, None, positions, row_bits, 0, None, None, 1, (directory, blob, 4))
        report(
            f"postings, {len(own)} of {universe} documents, {bits:.1f} bits each with a 4-bit rank",
            {"decode into arrays": (lambda s=segment: s.term_list(0), len(own))},
        )


if __name__ == "__main__":
    main()
