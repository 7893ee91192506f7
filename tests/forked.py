"""Do something in forked children, which must not hang."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager


def in_child(work: Callable[[], object], *, seconds: int = 30) -> int:
    """Return the exit code of a forked child that does some work: 0 if it succeeds, negative if it hangs.

    A failure is printed.
    """
    return in_children([work], seconds=seconds)[0]


def in_children(works: Iterable[Callable[[], object]], *, seconds: int = 30) -> list[int]:
    """Return the exit codes of forked children that work at the same time."""
    children = [_start(work, seconds) for work in works]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _start(work: Callable[[], object], seconds: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what these tests are about
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


@contextlib.contextmanager
def held_by_another_thread(lock: AbstractContextManager[object]) -> Iterator[None]:
    """Let another thread hold a lock, or be inside any context."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()
