"""What systems share: defaults of what they need not report, and faiss's counters and threads."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.errors import MissingExtra
from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.peers.ivf import FaissIVF
from hi2.evaluation.peers.peer import load_faiss, missing_extra, n_lists_for


def test_what_a_system_does_not_report_is_none(things):
    flat = things.build(FaissFlat())
    vector, text = things.vectors[0], things.texts[0]
    assert flat.count_scored(vector, text, 5, {}) is None
    assert flat.candidates(vector, text, {}) is None
    assert flat.asked(vector) is vector
    assert flat.part is None
    assert flat.bytes_by_part == {"total": flat.n_bytes}
    assert flat.n_bytes >= things.vectors.nbytes


def test_faiss_searches_one_query_on_one_thread(things):
    flat = things.build(FaissFlat())
    assert flat.search_batch(things.vectors[:3], things.texts[:3], 5, {}, threads=2)
    assert load_faiss().omp_get_max_threads() == 1


def test_scored_documents_are_those_that_faiss_counts(things):
    ivf = things.build(FaissIVF())
    counts = [ivf.count_scored(things.vectors[0], "", 5, {"nprobe": n}) for n in (1, 2, 10)]
    assert 0 < counts[0] < counts[1] < counts[2] == len(things.texts)


@pytest.mark.parametrize("n", [1, 38, 39, 500, 10_000, 10**6])
def test_lists_have_enough_documents_to_be_trained(n):
    lists = n_lists_for(n)
    assert 1 <= lists <= max(1, n // 39)
    assert lists in (int(4 * np.sqrt(n)), n // 39, 1)


def test_a_missing_package_names_its_extra():
    error = missing_extra("ScaNN", ImportError("No module named 'scann'"))
    assert isinstance(error, MissingExtra)
    assert "hi2[peers]" in str(error)
    assert "'scann'" in str(error)
