"""How far along is long work? Progress bars on a terminal, a callable of the caller's, or nothing."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from hi2.errors import described, invalid


class Phase(Protocol):
    """A callback that is told how many steps were done."""

    def __call__(self, steps: int) -> None:
        """Report ``steps`` more steps."""
        ...


#: Is told the name of a phase, the steps done so far, and how many there are, None where that is not known.
Told = Callable[[str, int, int | None], object]


class Progress:
    """Reports phases of work; ``show=None`` shows them only where standard error is a terminal.

    ``told`` is called instead with the name of the phase, the steps done and their number, at the beginning and after
    every part of the work. What it raises ends the work.
    """

    def __init__(self, show: bool | None = None, told: Told | None = None) -> None:
        self._show = sys.stderr.isatty() if show is None else show
        self._told = told
        self._bars: Any = None
        #: Seconds by phase; the time of a nested phase also counts in the outer one.
        self.seconds: dict[str, float] = {}

    @classmethod
    def of(cls, progress: AnyProgress) -> Progress:
        """Return the caller's own object, or a new one."""
        if isinstance(progress, Progress):
            return progress
        if isinstance(progress, (bool, type(None))):
            return cls(progress)
        if not _takes_three(progress):
            must = "True, False, None or a callable of (phase, done, total)"
            raise invalid("progress", must, described(progress))
        return cls(False, progress)

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Phase]:
        """Show a phase while the block runs; call the yielded function with the steps done."""
        start = time.perf_counter()
        try:
            if self._told is not None:
                yield _counted(self._told, name, total)
                return
            if not self._show:
                yield lambda steps: None
                return
            with self._display() as bars:
                task = bars.add_task(name, total=total)
                yield lambda steps: bars.update(task, advance=steps)
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @contextmanager
    def _display(self) -> Iterator[Any]:
        """Yield the bars on the terminal; a nested phase adds a line."""
        if self._bars is not None:
            yield self._bars
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
            self._bars = bars
            try:
                yield bars
            finally:
                self._bars = None


def _takes_three(value: Any) -> bool:
    """Whether a value can be called with three arguments."""
    try:
        return callable(value) and bool(inspect.signature(value).bind("phase", 0, None))
    except Exception:  # objects describe themselves, and raise what they like
        return False


#: What callers give as ``progress=``.
AnyProgress = bool | Progress | Told | None


def _counted(told: Told, name: str, total: int | None) -> Phase:
    """Return what counts the steps of a phase and tells them."""
    done = 0

    def count(steps: int) -> None:
        nonlocal done
        done += steps
        told(name, done, total)

    count(0)
    return count
