"""Phases are shown where they are wanted, and their time is counted either way."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.progress import Progress


def test_phases_are_shown_on_standard_error_only_if_wanted(capfd):
    with Progress(False).phase("quiet work", 3) as report:
        report(3)
    with Progress(None).phase("no terminal", None) as report:
        report(1)
    assert capfd.readouterr() == ("", "")
    shown = Progress(True)
    with shown.phase("outer work", 2) as report, shown.phase("inner work", None) as inner:
        report(2)
        inner(1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "outer work" in err
    assert "inner work" in err


def test_the_time_of_every_phase_is_counted_also_if_it_fails():
    progress = Progress(False)
    with progress.phase("read", None):
        pass
    first = progress.seconds["read"]
    with pytest.raises(RuntimeError), progress.phase("write", None):
        raise RuntimeError("full")
    with progress.phase("read", None):
        pass
    assert list(progress.seconds) == ["read", "write"]
    assert progress.seconds["read"] > first > 0


def test_the_callers_own_object_is_used():
    own = Progress(False)
    assert Progress.of(own) is own
    assert Progress.of(False) is not Progress.of(False)


def test_a_callable_is_told_the_steps_of_every_phase():
    told = []
    progress = Progress.of(lambda *step: told.append(step))
    with progress.phase("read", 5) as report:
        report(2)
        report(3)
    with progress.phase("write", None) as report:
        report(1)
    assert told == [("read", 0, 5), ("read", 2, 5), ("read", 5, 5), ("write", 0, None), ("write", 1, None)]


def test_what_the_callable_raises_ends_the_work():
    def stop(phase, done, total):
        if phase == "file documents":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hi2.HybridIndex.build(np.eye(3), terms=None, progress=stop)
