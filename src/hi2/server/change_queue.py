"""How are changes written? One at a time, by one thread per collection, and many in one commit.

Whatever waits when the thread becomes free is applied in order and committed once, so the cost of a commit is shared. A
change that is to be durable is answered after the commit, another one as soon as it is applied.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from hi2.index import HybridIndex
from hi2.server.admission import Overloaded

_log = logging.getLogger("hi2.server")

#: Applies a change to the index and returns how many documents it concerned.
Apply = Callable[[HybridIndex], int]


@dataclass
class _Change:
    """A change that waits for its turn."""

    apply: Apply
    durable: bool
    done: asyncio.Future[int] = field(repr=False)


class ChangeQueue:
    """The changes that wait for the writer of one collection. The writer is opened for the first of them."""

    def __init__(self, open_writer: Callable[[], HybridIndex], committed: Callable[[], object], *, most: int) -> None:
        self._open_writer = open_writer
        #: Called after every commit: readers go on to it.
        self._committed = committed
        self._most = most
        self._waiting: list[_Change] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hi2-write")
        self._writer: HybridIndex | None = None
        self._task: asyncio.Task[None] | None = None
        self.closed = False

    @property
    def n_waiting(self) -> int:
        """How many changes wait for their turn."""
        return len(self._waiting)

    async def change(self, apply: Apply, *, durable: bool) -> int:
        """Apply a change after those that came before it, and return how many documents it concerned.

        A ``durable`` change is committed by then, and the next search sees it.
        """
        if self.closed or len(self._waiting) >= self._most:
            raise Overloaded
        loop = asyncio.get_running_loop()
        change = _Change(apply, durable, loop.create_future())
        self._waiting.append(change)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        return await change.done

    async def close(self) -> None:
        """Commit what waits, and release the lock of the writer."""
        self.closed = True
        if self._task is not None:
            await asyncio.shield(self._task)  # changes are finished, whoever still waits
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close_writer)
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            group, self._waiting = self._waiting, []
            await loop.run_in_executor(self._thread, self._write, group, loop)

    def _write(self, group: list[_Change], loop: asyncio.AbstractEventLoop) -> None:
        """Apply changes and commit them; every one is answered, whatever happens."""
        applied: list[tuple[_Change, int]] = []
        for change in group:
            try:
                if self._writer is None:
                    self._writer = self._open_writer()
                n = change.apply(self._writer)
            except Exception as error:
                loop.call_soon_threadsafe(_refuse, change, error)
                continue
            applied.append((change, n))
            if not change.durable:
                loop.call_soon_threadsafe(_answer, change, n)
        if not applied or self._writer is None:
            return
        try:
            self._writer.commit()
        except Exception as error:
            _log.exception("A commit failed. Changes since the last one are dropped.")
            with suppress(Exception):
                self._close_writer()
            for change, _ in applied:
                loop.call_soon_threadsafe(_refuse, change, error)
            return
        try:
            self._committed()
        except Exception:  # what was committed stands; readers follow later
            _log.exception("Readers could not follow a commit.")
        for change, n in applied:
            loop.call_soon_threadsafe(_answer, change, n)

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None  # even if it cannot be closed
        if writer is not None:
            writer.close()


def _answer(change: _Change, n: int) -> None:
    if not change.done.done():
        change.done.set_result(n)


def _refuse(change: _Change, error: Exception) -> None:
    if not change.done.done():
        change.done.set_exception(error)
