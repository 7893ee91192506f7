"""A cache keeps the most recently used results, whichever threads use it."""

from __future__ import annotations

import os
import threading

import pytest

from forked import held_by_another_thread, in_child
from hi2.data.cache import MAX_ENTRIES, LruCache


def test_the_least_recently_used_result_is_dropped_first():
    cache: LruCache[int] = LruCache()
    for number in range(MAX_ENTRIES):
        assert cache.put(str(number), number) == number
    assert cache.get("0") == 0  # used again, so "1" is now the oldest
    cache.put("new", -1)
    assert cache.get("1") is None
    assert [cache.get(key) for key in ("0", "2", "new")] == [0, 2, -1]


def test_a_result_put_again_replaces_the_first_and_counts_as_used():
    cache: LruCache[str] = LruCache()
    for number in range(MAX_ENTRIES):
        cache.put(str(number), "old")
    cache.put("0", "changed")
    cache.put("new", "new")
    assert cache.get("0") == "changed"
    assert cache.get("1") is None


def test_threads_share_a_cache_without_losing_its_limit():
    cache: LruCache[int] = LruCache()
    wrong = []

    def use(seed):
        for step in range(500):
            key = str((step * seed) % (2 * MAX_ENTRIES))
            cache.put(key, int(key))
            found = cache.get(key)
            if found not in (None, int(key)):
                wrong.append((key, found))

    threads = [threading.Thread(target=use, args=(seed,)) for seed in (1, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(cache.get(str(key)) is not None for key in range(2 * MAX_ENTRIES)) == MAX_ENTRIES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_can_use_a_cache_that_another_thread_was_using():
    cache: LruCache[int] = LruCache()
    cache.put("a", 1)

    def use():
        assert cache.get("a") == 1
        assert [cache.put(str(n), n) for n in range(2 * MAX_ENTRIES)][-1] == 2 * MAX_ENTRIES - 1
        assert cache.get("a") is None

    with held_by_another_thread(cache._lock):
        assert in_child(use) == 0
    assert cache.get("a") == 1
