"""Vectors match their collection, and encoding is kept and resumed."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation.task import load_task
from hi2.evaluation.vectors import cached_vectors, read_vectors
from lab_plan import SILENT


def test_vectors_must_match_the_collection(folder, corpus, tmp_path):
    np.save(tmp_path / "queries.npy", corpus.query_vectors)
    with pytest.raises(hi2.InvalidParameter, match=r"a folder with corpus\.npy"):
        load_task(folder, vectors=tmp_path, progress=SILENT)
    np.save(tmp_path / "corpus.npy", corpus.vectors[:-1])
    with pytest.raises(hi2.InvalidParameter, match=f"{len(corpus.ids) - 1} rows for {len(corpus.ids)} documents"):
        load_task(folder, vectors=tmp_path, progress=SILENT)
    broken = corpus.vectors.copy()
    broken[7, 3] = np.nan
    np.save(tmp_path / "corpus.npy", broken)
    with pytest.raises(hi2.InvalidParameter, match=r"corpus\.npy, row 7: not a finite number"):
        load_task(folder, vectors=tmp_path, progress=SILENT)
    np.save(tmp_path / "corpus.npy", corpus.vectors.astype(np.int32))
    with pytest.raises(hi2.InvalidParameter, match="expected floats"):
        load_task(folder, vectors=tmp_path, progress=SILENT)


def test_encoding_is_kept_and_resumed(tmp_path):
    texts = [f"text {i}" for i in range(1500)]
    calls = []

    def encoder(batch):
        calls.append(len(batch))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return np.array([[int(text.split()[1]) / 1500, 1.0] for text in batch])

    with pytest.raises(KeyboardInterrupt):
        cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    assert not (tmp_path / "corpus.npy").exists()
    vectors = cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    assert calls == [1, 512, 512, 476, 1, 476]
    np.testing.assert_allclose(vectors[:, 0], np.arange(1500) / 1500, atol=1e-3)
    assert np.load(tmp_path / "corpus.npy").dtype == np.float16
    cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    assert len(calls) == 6


def test_a_damaged_checkpoint_restarts_the_encoding(tmp_path):
    encoder = hi2.StaticEncoder()
    texts = [f"text {i}" for i in range(5)]
    np.lib.format.open_memmap(tmp_path / "corpus.part", mode="w+", dtype=np.float16, shape=(5, 256)).flush()
    (tmp_path / "corpus.mark").write_text("")
    made = cached_vectors(tmp_path / "corpus.npy", texts, encoder, SILENT)
    np.testing.assert_allclose(made, encoder(texts), atol=1e-3)


def test_an_archive_of_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "several.npz", a=np.ones(3))
    (tmp_path / "several.npz").rename(tmp_path / "corpus.npy")
    with pytest.raises(hi2.InvalidParameter, match="an archive of arrays"):
        read_vectors(tmp_path, "corpus.npy", 3, "documents")


def test_vectors_are_read_as_float32(tmp_path):
    np.save(tmp_path / "corpus.npy", np.eye(3, dtype=np.float16))
    vectors = read_vectors(tmp_path, "corpus.npy", 3, "documents")
    assert vectors.dtype == np.float32
    assert vectors.tolist() == np.eye(3).tolist()
