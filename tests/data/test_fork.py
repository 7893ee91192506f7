"""A forked child makes the locks it inherits anew, and can do everything while the threads of its parent work."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from forked import held_by_another_thread, in_child
from hi2.data import fork

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


class Holder:
    def __init__(self):
        fork.make_locks(self)

    def renew_locks(self):
        self.lock = threading.Lock()


def test_a_child_can_take_a_lock_that_another_thread_of_its_parent_holds():
    holder = Holder()
    lock = holder.lock

    def take():
        assert holder.lock.acquire(timeout=20)

    with held_by_another_thread(lock):
        assert in_child(holder.lock.acquire, seconds=2) != 0  # bound before the fork: the old lock
        assert in_child(take) == 0
        assert holder.lock is lock  # the parent keeps its own
    assert lock.acquire(blocking=False)


def test_a_thread_that_holds_a_lock_can_release_it_in_a_child():
    holder = Holder()

    def work():
        with holder.lock:
            pass

    with holder.lock:
        assert in_child(work) == 0


def test_holders_are_forgotten_when_nothing_else_holds_them():
    holder = Holder()
    assert holder in fork._holders
    n = len(fork._holders)
    del holder
    gc.collect()
    assert len(fork._holders) < n


def test_every_lock_is_made_anew_in_a_child():
    for path in Path(fork.__file__).parent.parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if re.search(r"= (threading\.)?(R?Lock|Condition|(Bounded)?Semaphore)\(", source):
            assert "make_locks(self)" in source, path


@pytest.mark.slow
def test_children_can_search_whatever_the_threads_of_their_parent_do(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(TESTS / "forking_process.py"), str(tmp_path), "110"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
