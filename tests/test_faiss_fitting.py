"""faiss fits with the threads it is given, restores them, and uses one after a fork."""

from __future__ import annotations

import numpy as np
import pytest

from hi2 import faiss_fitting
from hi2.faiss_fitting import pinned_faiss, train_codebooks


def test_the_number_of_threads_is_set_and_restored():
    def fail_inside():
        with pinned_faiss(2) as again:
            assert again.omp_get_max_threads() == 2
            raise RuntimeError("inside")

    with pinned_faiss(1) as faiss:
        with pytest.raises(RuntimeError, match="inside"):
            fail_inside()
        assert faiss.omp_get_max_threads() == 1


def test_a_forked_process_fits_on_one_thread(monkeypatch):
    monkeypatch.setattr(faiss_fitting, "_forked", True)
    with pinned_faiss(8) as faiss:
        assert faiss.omp_get_max_threads() == 1


def test_few_points_are_their_own_codewords():
    points = np.arange(24, dtype=np.float32).reshape(4, 6)
    with pinned_faiss(1) as faiss:
        codebooks = train_codebooks(faiss, points, 3, 4)
    assert codebooks.shape == (3, 16, 2)
    for subspace in range(3):
        np.testing.assert_array_equal(codebooks[subspace, :4], points[:, 2 * subspace : 2 * subspace + 2])
        assert (codebooks[subspace, 4:] == codebooks[subspace, 3]).all()


def test_fitting_is_repeatable():
    points = np.random.default_rng(0).standard_normal((500, 8)).astype(np.float32)
    with pinned_faiss(1) as faiss:
        np.testing.assert_array_equal(train_codebooks(faiss, points, 2, 4), train_codebooks(faiss, points, 2, 4))
