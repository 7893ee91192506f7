"""Ends, again and again in forked children, while daemon threads search indexes and change one.

python tests/exiting_process.py FOLDER RUNS
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import busy_index
import hi2


def repeat(work: Callable[[], object]) -> None:
    while True:
        work()


def work_for_ever(folder: Path, changing: hi2.HybridIndex, choose: random.Random) -> list[threading.Thread]:
    """Start daemon threads that do a few things of all there are."""
    work = [
        *busy_index.questions(hi2.HybridIndex.open(folder / "native")).values(),
        *busy_index.questions(hi2.HybridIndex.open(folder / "library")).values(),
        *busy_index.questions(changing).values(),
        lambda: hi2.HybridIndex.open(folder / "native").search(busy_index.VECTORS[0], filter="year < 3"),
    ]
    chosen = [*choose.sample(work, 5), lambda: changing.add(busy_index.VECTORS[:50], busy_index.TEXTS[:50])]
    threads = [threading.Thread(target=repeat, args=(one,), daemon=True) for one in chosen]
    for thread in threads:
        thread.start()
    return threads


def main(folder: Path, runs: int) -> None:
    busy_index.build(folder)
    changing = hi2.HybridIndex.build(busy_index.VECTORS, busy_index.TEXTS, payload=busy_index.PAYLOAD)
    choose = random.Random(0)
    for _ in range(runs):
        seed, moment = choose.randrange(1000), choose.uniform(0, 0.1)
        child = os.fork()
        if child == 0:
            threads = work_for_ever(folder, changing, random.Random(seed))
            time.sleep(moment)
            assert all(thread.is_alive() for thread in threads), "a thread failed"
            return  # the interpreter ends as usual, with all that belongs to it
        _, status = os.waitpid(child, 0)
        assert status == 0, f"a child ended with {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
