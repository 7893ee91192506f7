"""How far along is it? Progress of long work on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Phase(Protocol):
    """Something that is told of steps done."""

    def __call__(self, steps: int) -> None:
        """Report ``steps`` more steps."""
        ...


class Progress:
    """Reports phases of work; ``show=None`` shows them only where standard error is a terminal."""

    def __init__(self, show: bool | None = None) -> None:
        self._show = sys.stderr.isatty() if show is None else show
        self._bars: Any = None
        #: How long every phase took so far; one inside another counts in both.
        self.seconds: dict[str, float] = {}

    @classmethod
    def of(cls, progress: bool | Progress | None) -> Progress:
        """Return the caller's own, or a new one."""
        return progress if isinstance(progress, Progress) else cls(progress)

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Phase]:
        """Show one phase while the block runs; call what it yields with steps done."""
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
        """Yield the bars on the terminal; a phase inside another adds a line to them."""
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
