"""The same query gives the same answer on every code path."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hi2
from hi2 import _native

CODECS = [hi2.Flat(), hi2.OPQ(subspaces=5, residual=True), hi2.RaBitQ(bits=2), hi2.SQ8(residual=True), hi2.Half()]


def same(a: hi2.Hits, b: hi2.Hits) -> None:
    assert (a.ids == b.ids).all()
    assert (a.scores == b.scores).all()
    assert (a.n_scored == b.n_scored).all()


@pytest.fixture(scope="module", params=CODECS, ids=repr)
def index(request, corpus):
    return hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, codec=request.param, clusters=hi2.KMeans(25, copies=1)
    )


def test_thread_counts_give_the_same_answers(corpus, index):
    one = index.search(corpus.query_vectors, corpus.query_texts, threads=1)
    same(one, index.search(corpus.query_vectors, corpus.query_texts, threads=8))


def test_memory_memory_maps_and_file_reads_give_the_same_answers(corpus, index, tmp_path):
    index.save(tmp_path / "a")
    expected = index.search(corpus.query_vectors, corpus.query_texts)
    same(expected, hi2.HybridIndex.open(tmp_path / "a").search(corpus.query_vectors, corpus.query_texts))
    same(expected, hi2.HybridIndex.open(tmp_path / "a", mmap=False).search(corpus.query_vectors, corpus.query_texts))


def test_building_on_disk_and_in_memory_gives_the_same_bytes(corpus, index, tmp_path):
    model = index.model
    parts = {"clusters": model.clusters, "terms": model.terms, "codec": model.codec}
    disk = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, path=tmp_path / "a", **parts)
    same(index.search(corpus.query_vectors, corpus.query_texts), disk.search(corpus.query_vectors, corpus.query_texts))
    disk.close()
    assert file_hashes(tmp_path / "a") == file_hashes(saved(index, tmp_path / "b"))


def test_arrays_files_and_iterators_give_the_same_bytes(corpus, index, tmp_path):
    model = index.model
    parts = {"clusters": model.clusters, "terms": model.terms, "codec": model.codec}
    np.save(tmp_path / "v.npy", corpus.vectors)
    batches = (corpus.vectors[i : i + 100] for i in range(0, len(corpus.vectors), 100))
    for source, texts in ((tmp_path / "v.npy", corpus.texts), (batches, (text for text in corpus.texts))):
        other = hi2.HybridIndex.build(source, texts, ids=(id for id in corpus.ids), **parts)
        assert segment_bytes(other) == segment_bytes(index)


def test_one_segment_and_many_give_the_same_answers(corpus, index):
    expected = index.search(corpus.query_vectors, corpus.query_texts, k=30)
    many = grown(
        corpus, index, [0, len(corpus.texts) - 60, len(corpus.texts) - 20, len(corpus.texts) - 1, len(corpus.texts)]
    )
    assert many.info()["n_segments"] > 1
    same(expected, many.search(corpus.query_vectors, corpus.query_texts, k=30))


def test_add_delete_and_merge_equal_a_build(corpus, index):
    """Documents are added in several steps and some are deleted. After a merge, the bytes equal those of one build."""
    changed = grown(corpus, index, [0, 200, 210, 500, len(corpus.texts)])
    gone = corpus.ids[3::7]
    changed.delete(gone)
    kept = [i for i, id in enumerate(corpus.ids) if id not in set(gone)]
    model = index.model
    fresh = hi2.HybridIndex.build(
        corpus.vectors[kept],
        [corpus.texts[i] for i in kept],
        ids=[corpus.ids[i] for i in kept],
        clusters=model.clusters,
        terms=model.terms,
        codec=model.codec,
    )
    same(
        changed.search(corpus.query_vectors, corpus.query_texts, k=30),
        fresh.search(corpus.query_vectors, corpus.query_texts, k=30),
    )
    changed.merge()
    assert changed.info()["n_segments"] == 1
    assert segment_bytes(changed) == segment_bytes(fresh)


def test_thread_counts_build_the_same_bytes(corpus):
    model = hi2.HybridIndex.build(corpus.vectors, corpus.texts, codec=hi2.PQ(subspaces=5)).model
    parts = {"clusters": model.clusters, "terms": model.terms, "codec": model.codec}
    one, four = (hi2.HybridIndex.build(corpus.vectors, corpus.texts, threads=t, **parts) for t in (1, 4))
    assert segment_bytes(one) == segment_bytes(four)


def test_fitting_is_repeatable(corpus):
    one, two = (hi2.HybridIndex.build(corpus.vectors, corpus.texts, codec=hi2.OPQ(subspaces=5)) for _ in range(2))
    np.testing.assert_array_equal(one.model.clusters.anchors, two.model.clusters.anchors)
    np.testing.assert_array_equal(one.model.codec.arrays["codebooks"], two.model.codec.arrays["codebooks"])
    assert segment_bytes(one) == segment_bytes(two)


@pytest.mark.parametrize("level", _native.simd_levels())
def test_simd_levels_give_the_same_answers_and_codes(corpus, index, level, tmp_path):
    """At each level, a process opens the index, searches it and encodes it again, with the same bytes as a result."""
    folder = saved(index, tmp_path / "a")
    np.save(tmp_path / "v.npy", corpus.vectors)
    np.save(tmp_path / "q.npy", corpus.query_vectors)
    script = """
import sys, hashlib, numpy as np, hi2
from hi2 import _native
folder, vectors, queries = sys.argv[1:]
index = hi2.HybridIndex.open(folder)
hits = index.search(np.load(queries), k=20, clusters=5)
m = index.model
again = hi2.HybridIndex.build(vectors, terms=None, clusters=m.clusters, codec=m.codec)
digest = hashlib.sha256(hits.scores.tobytes() + repr(hits.ids.tolist()).encode())
digest.update(again._index.state.snapshot.segments[0].segment.arrays["codes.npy"].tobytes())
print(_native.simd_level(), digest.hexdigest())
"""
    run = subprocess.run(
        [sys.executable, "-c", script, folder, tmp_path / "v.npy", tmp_path / "q.npy"],
        env={**os.environ, "HI2_SIMD": level},
        capture_output=True,
        text=True,
        check=True,
    )
    used, digest = run.stdout.split()
    assert used == level
    hits = index.search(corpus.query_vectors, k=20, clusters=5)
    expected = hashlib.sha256(hits.scores.tobytes() + repr(hits.ids.tolist()).encode())
    expected.update(index._index.state.snapshot.segments[0].segment.arrays["codes.npy"].tobytes())
    assert digest == expected.hexdigest()


def test_an_unknown_simd_level_is_rejected():
    code = "import hi2._native as n; n.simd_level()"
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "HI2_SIMD": "mmx"}, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert "must be 'scalar' or 'avx2'. Got 'mmx'" in run.stderr


def test_a_forked_child_can_search(corpus, index):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    expected = index.search(corpus.query_vectors, corpus.query_texts, threads=4)
    child = os.fork()
    if child == 0:
        again = index.search(corpus.query_vectors, threads=4, clusters=5)
        once = index.search(corpus.query_vectors, threads=1, clusters=5)
        os._exit(0 if (again.ids == once.ids).all() else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    same(expected, index.search(corpus.query_vectors, corpus.query_texts, threads=4))


def test_many_threads_can_search_while_one_writes(corpus):
    """Every answer comes from one snapshot, so a search sees all documents of an added batch or none."""
    index = hi2.HybridIndex.build(corpus.vectors[:300], corpus.texts[:300], ids=corpus.ids[:300])
    steps = list(range(300, len(corpus.texts), 50))
    sizes = {300, *(min(step + 50, len(corpus.texts)) for step in steps)}
    stop = threading.Event()
    seen: set[int] = set()
    failures: list[BaseException] = []

    def search() -> None:
        try:
            while not stop.is_set():
                hits = index.search(corpus.query_vectors[0], k=10_000, clusters=10_000)
                assert hits.n_scored == len(set(hits.ids.tolist()))
                seen.add(hits.n_scored)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(6)]
    for thread in threads:
        thread.start()
    for step in steps:
        time.sleep(0.02)
        index.add(corpus.vectors[step : step + 50], corpus.texts[step : step + 50], ids=corpus.ids[step : step + 50])
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert seen <= sizes
    assert len(seen) > 1  # some searches ran while documents were added


# -- helpers ----------------------------------------------------------------------------------------------------------


def grown(corpus, index, bounds):
    """Return an index with the same parts, built by adding the documents in several steps."""
    model = index.model
    begin, end = bounds[:2]
    other = hi2.HybridIndex.build(
        corpus.vectors[begin:end],
        corpus.texts[begin:end],
        ids=corpus.ids[begin:end],
        clusters=model.clusters,
        terms=model.terms,
        codec=model.codec,
    )
    for begin, end in itertools.pairwise(bounds[1:]):
        other.add(corpus.vectors[begin:end], corpus.texts[begin:end], ids=corpus.ids[begin:end])
    return other


def segment_bytes(index: hi2.HybridIndex) -> dict[str, bytes]:
    (live,) = index._index.state.snapshot.segments
    return {name: array.tobytes() for name, array in live.segment.arrays.items()}


def saved(index: hi2.HybridIndex, folder: Path) -> Path:
    index.save(folder)
    return folder


def file_hashes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*.npy"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("codec", [hi2.Flat(), hi2.RaBitQ(residual=True)], ids=repr)
def test_the_fast_path_for_one_query_gives_the_same_answers(corpus, codec, monkeypatch):
    """A float32 array with one string is answered in one native call. Lists and batches take the general path."""
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, codec=codec, refine=hi2.SQ8())
    index.delete(corpus.ids[5:40])
    index.add(corpus.vectors[5:40], corpus.texts[5:40], ids=corpus.ids[5:40])
    odd = ["", "[CLS] import", "\u302e import module", "zebra", " ".join(corpus.texts[0].split()[:60])]
    texts = [*corpus.query_texts[:30], *odd, None]
    vectors = corpus.query_vectors[: len(texts)]
    plain = ({}, {"k": 50, "clusters": 3}, {"terms": 0}, {"clusters": 0, "terms": 4}, {"refine": 0, "per_doc": 2})
    settings = (*plain, {"adaptive": 0.01}, {"budget": 60}, {"adaptive": 0.002, "budget": 100, "clusters": 5})
    for setting in settings:
        batch = index.search(vectors, texts, **setting)
        for i, (vector, text) in enumerate(zip(vectors, texts, strict=True)):
            short, long = index.search(vector, text, **setting), index.search(vector.tolist(), text, **setting)
            for other in (long, batch[i]):
                assert short.ids.tolist() == other.ids.tolist()
                assert short.scores.tolist() == other.scores.tolist()
                assert (short.n_scored, short.counts) == (other.n_scored, other.counts)
                assert short.n_term_lists == other.n_term_lists
    with pytest.raises(hi2.InvalidParameter, match="NaN"):
        index.search(np.full(40, np.nan, np.float32), "text")
    with pytest.raises(hi2.InvalidParameter, match="dimension"):
        index.search(np.ones(41, np.float32), "text")

    def fail(*_):
        raise AssertionError("the long road was taken")

    monkeypatch.setattr("hi2.search.execute.read_queries", fail)
    index.search(vectors[0], texts[0])
    index.search(vectors[0])
