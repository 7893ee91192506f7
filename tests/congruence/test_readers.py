"""Readers in other processes never see a healthy index as damaged, whatever the writer does meanwhile."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import hi2
from forked import in_children

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
SECONDS = 120.0


def documents(numbers) -> dict:
    """Documents whose vector, text and payload follow from their id, so that a mixture would show."""
    return {
        "vectors": np.stack([np.cos(np.arange(1, 9) * (i + 1)) for i in numbers]).astype(np.float32),
        "texts": [f"word{i % 13} number {i}" for i in numbers],
        "ids": [f"d{i}" for i in numbers],
        "payload": [{"n": i} for i in numbers],
    }


def write(folder, until: float) -> None:
    """Add, delete, merge and commit, also from anew opened indexes, until the time is over."""
    rng = np.random.default_rng(0)
    n, commits = 40, 0
    while time.monotonic() < until:
        with hi2.HybridIndex.open(folder, "w") as index:
            last: list[str] = []
            for _ in range(int(rng.integers(1, 40))):
                if last and rng.random() < 0.6:
                    index.delete(last, missing_ok=True)  # the last segment dies as a whole, and another follows it
                    last = []
                else:
                    new = documents(range(n, n + int(rng.integers(1, 6))))
                    n += len(new["ids"])
                    last = new["ids"]
                    index.add(**new, keep_text=True)
                if len(index) > 60:
                    index.delete(index.ids()[:20])
                if rng.random() < 0.05:
                    index.merge()
                for _ in range(int(rng.integers(1, 4))):  # after the second, no manifest names what died
                    index.commit()
                    commits += 1
                if time.monotonic() > until:
                    break
    assert commits > 20 * (SECONDS / 120)


def read(folder, until: float, seed: int) -> None:
    """Open, verify and search, with readers that are kept for a while, until the time is over."""
    rng = np.random.default_rng(seed)
    kept: list[hi2.HybridIndex] = []
    opened = verified = 0
    while time.monotonic() < until:
        index = hi2.HybridIndex.open(folder, mmap=bool(rng.integers(4)))
        opened += 1
        kept = [*kept[-5:], index]
        some = kept[int(rng.integers(len(kept)))]
        some.verify()
        verified += 1
        for id in some.ids()[:3]:
            number = int(id[1:])
            expected = documents([number])
            assert some.get(id) == {"id": id, "text": expected["texts"][0], "payload": {"n": number}}
            hits = some.search(expected["vectors"][0], expected["texts"][0], k=1, clusters=4)
            assert hits.scores[0] >= np.float32(0.999) * (expected["vectors"][0] ** 2).sum() or hits.ids[0] != id
        if rng.random() < 0.3:
            time.sleep(float(rng.random()) * 0.02)
    assert min(opened, verified) > 20 * (SECONDS / 120)


@pytest.mark.slow
def test_two_minutes_of_commits_give_readers_no_false_alarm(tmp_path):
    first = documents(range(40))
    hi2.HybridIndex.build(**first, keep_text=True, clusters=hi2.KMeans(4), path=tmp_path / "a").close()
    until = time.monotonic() + SECONDS
    readers = [lambda seed=seed: read(tmp_path / "a", until, seed) for seed in range(3)]
    works = [lambda: write(tmp_path / "a", until), *readers]
    assert in_children(works, seconds=int(SECONDS) + 120) == [0, 0, 0, 0]
    hi2.HybridIndex.open(tmp_path / "a").verify()
