"""How far along is long work? Progress bars on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from hi2.errors import described, invalid


class Phase(Protocol):
    """A callback that is told how many steps were done."""

    def __call__(self, steps: int) -> None:
        """Report ``steps`` more steps."""
        ...


class Progress:
    """Reports phases of work; ``show=None`` shows them only where standard error is a terminal."""

    def __init__(self, show: bool | None = None) -> None:
        self._show = sys.stderr.isatty() if show is None else show
        self._bars: Any = None
        #: Seconds by phase; the time of a nested phase also counts in the outer one.
        self.seconds: dict[str, float] = {}

    @classmethod
    def of(cls, progress: bool | Progress | None) -> Progress:
        """Return the caller's own object, or a new one."""
        if not isinstance(progress, (Progress, bool, type(None))):
            raise invalid("progress", "True, False, None or a hi2 Progress", described(progress))
        return progress if isinstance(progress, Progress) else cls(progress)

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Phase]:
        """Show a phase while the block runs; call the yielded function with the steps done."""
        start = time.perf_counter()
        try:
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
