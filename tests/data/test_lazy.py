"""A lazy property is computed once, shared by threads, and never waits for another thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from forked import in_child
from hi2.data import lazy as lazy_module
from hi2.data.lazy import lazy


class Slow:
    """Computes a value when it is told to go on."""

    def __init__(self):
        self.n_computed = 0
        self.begun = threading.Event()
        self.go_on = threading.Event()

    @lazy
    def value(self):
        """Some value."""
        self.n_computed += 1
        self.begun.set()
        self.go_on.wait()
        return object()


def test_a_value_is_computed_once_and_kept_with_its_object():
    one, other = Slow(), Slow()
    one.go_on.set()
    assert one.value is one.value
    assert one.n_computed == 1
    assert other.n_computed == 0
    assert Slow.value.__doc__ == "Some value."


def test_a_value_that_cannot_be_computed_is_asked_for_again():
    class Failing:
        n = 0

        @lazy
        def value(self):
            self.n += 1
            if self.n == 1:
                raise ValueError("not yet")
            return self.n

    failing = Failing()
    with pytest.raises(ValueError, match="not yet"):
        _ = failing.value
    assert failing.value == 2


def test_threads_that_compute_at_the_same_time_get_one_value():
    slow, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    slow.begun.wait()
    slow.go_on.set()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(value is found[0] is slow.value for value in found)


def test_no_source_keeps_values_behind_the_lock_of_functools():
    sources = [path for path in Path(lazy_module.__file__).parent.parent.rglob("*.py") if path.name != "lazy.py"]
    assert not [path for path in sources if "cached_property" in path.read_text(encoding="utf-8")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent():
    slow, other = Slow(), Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    slow.begun.wait()

    def compute():
        for one in (other, slow):  # the same property of another object, then of this one
            one.go_on = threading.Event()
            one.go_on.set()
            assert one.value is one.value

    try:
        assert in_child(compute) == 0
    finally:
        slow.go_on.set()
        thread.join()
