"""Texts that were searched for are counted, and those that opened no term list."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import hi2
from forked import held_by_another_thread, in_child
from hi2.search.search_counts import SearchCounts


def hits(opened):
    n = np.ndim(opened) and len(opened)
    ids = np.zeros((n, 1), np.int64) if n else np.zeros(1, np.int64)
    return hi2.Hits(ids, ids.astype(np.float32), n_scored=1, counts=1, n_term_lists=opened)


def test_only_texts_are_counted():
    counts = SearchCounts()
    counts.count(None, hits(0))
    assert counts.report() == {"with_text": 0, "without_term_list": 0}
    counts.count("known", hits(2))
    counts.count("unknown", hits(0))
    counts.count(["known", None, "", "unknown", "unknown"], hits([1, 0, 0, 0, 0]))
    assert counts.report() == {"with_text": 5, "without_term_list": 3}


def test_searches_of_many_threads_are_all_counted():
    counts = SearchCounts()
    threads = [
        threading.Thread(target=lambda: [counts.count("text", hits(i % 2)) for i in range(500)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.report() == {"with_text": 2000, "without_term_list": 1000}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_can_count_while_another_thread_of_its_parent_counts():
    counts = SearchCounts()
    counts.count("known", hits(2))

    def count():
        counts.count("unknown", hits(0))
        assert counts.report() == {"with_text": 2, "without_term_list": 1}

    with held_by_another_thread(counts._lock):
        assert in_child(count) == 0
    assert counts.report() == {"with_text": 1, "without_term_list": 0}
