"""How far along is it? Progress of long work on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Phase(Protocol):
    """Something that is told of steps done."""

    def __call__(self, steps: int) -> None:
        """Report ``steps`` more steps."""
        ...


class Progress:
    """Reports phases of work; ``show=None`` shows them only where standard error is a terminal."""

    def __init__(self, show: bool | None = None) -> None:
        self._show = sys.stderr.isatty() if show is None else show

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Phase]:
        """Show one phase while the block runs; call what it yields with steps done."""
        if not self._show:
            yield lambda steps: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
            task = bars.add_task(name, total=total)
            yield lambda steps: bars.update(task, advance=steps)
