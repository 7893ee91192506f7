"""Forks while threads search indexes and change one; every child asks everything too.

python tests/forking_process.py FOLDER FORKS
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import busy_index
import hi2

Question = Callable[[], object]


def ask_all(shared: list[dict[str, Question]], fresh: list[dict[str, Question]], changing: hi2.HybridIndex) -> None:
    """Ask in a child: indexes that threads of its parent search, some that none did yet, and one that they change."""
    faulthandler.dump_traceback_later(100, exit=True)
    for questions in shared:
        for ask in questions.values():
            ask()
    for questions in fresh:
        for name in ("batch of texts", "filters"):
            questions[name]()
    changing.add(busy_index.VECTORS[:5], busy_index.TEXTS[:5])
    changing.delete([0])


def main(folder: Path, forks: int) -> None:
    busy_index.build(folder)
    changing = hi2.HybridIndex.build(busy_index.VECTORS, busy_index.TEXTS, payload=busy_index.PAYLOAD)
    shared = [busy_index.questions(hi2.HybridIndex.open(folder / name)) for name in ("native", "library")]
    shared.append(busy_index.questions(changing))
    fresh = [busy_index.questions(hi2.HybridIndex.open(folder / name)) for name in ("native", "library")]
    stop = threading.Event()

    def repeat(work: Question) -> None:
        while not stop.wait(0.001):  # leaves the children time to work
            work()

    work = [
        shared[0]["filter"],
        shared[1]["batch of texts"],
        shared[2]["special words"],
        lambda: hi2.HybridIndex.open(folder / "native").search(busy_index.VECTORS[0], "one", filter="year < 3"),
        lambda: changing.add(busy_index.VECTORS[:5], busy_index.TEXTS[:5]),
    ]
    threads = [threading.Thread(target=repeat, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    failed = 0
    for number in range(forks):
        time.sleep(0.001)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ask_all(shared, fresh if number % 4 == 0 else [], changing)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        failed += os.waitpid(child, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    sys.exit(f"{failed} children failed" if failed else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
