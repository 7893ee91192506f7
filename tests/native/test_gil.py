"""A process ends well whatever its daemon threads do in native code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hi2
from forked import in_child
from hi2 import _native

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )


def test_a_process_ends_well_while_daemon_threads_search(tmp_path):
    done = run(TESTS / "exiting_process.py", tmp_path, 32)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_native_code_works_after_threads_were_finished():
    code = """
import threading
import busy_index, hi2
from hi2 import _native
index = hi2.HybridIndex.build(busy_index.VECTORS, busy_index.TEXTS, payload=busy_index.PAYLOAD)
_native.finish_threads()
for ask in busy_index.questions(index).values():
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
print("done")
"""
    done = run("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_forked_child_does_not_wait_for_threads_that_it_does_not_have():
    vectors = np.random.default_rng(0).standard_normal((20_000, 64)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors, terms=None, codec=hi2.Flat())
    stop = threading.Event()

    def search():
        while not stop.is_set():
            index.search(vectors[:200], clusters=10_000, threads=1)

    searching = threading.Thread(target=search)
    searching.start()
    try:
        for _ in range(5):
            time.sleep(0.05)  # a batch takes longer, so most children are forked in the middle of one
            assert in_child(_native.finish_threads) == 0
    finally:
        stop.set()
        searching.join()
