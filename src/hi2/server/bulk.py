"""How does a stream of lines become documents? In batches, each checked, applied and committed before the next is read.

So memory holds one batch, and a client that is faster than the writer waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from pydantic import ValidationError

from hi2.errors import Error
from hi2.server.change_queue import ChangeQueue
from hi2.server.document_changes import upsert
from hi2.server.limits import Limits
from hi2.server.problems import Refused, refusal
from hi2.server.schema import Document

#: Documents that are written together, and bytes of lines after which a batch is full.
BATCH, BATCH_BYTES = 1000, 4 << 20
#: So many reasons for refused lines are told.
_REASONS = 20


async def write_stream(changes: ChangeQueue, request: Request, limits: Limits, *, durable: bool) -> dict[str, Any]:
    """Store the documents of a request's lines; return how many, and what was refused and why."""
    writing = _Writing(changes, durable)
    async for number, line in _lines(request, limits.body):
        writing.take(number, line)
        if writing.full():
            await writing.write()
            request.scope["state"]["deadline"].renew()
    await writing.write()
    return {"n": writing.n, "durable": durable, "n_refused": writing.n_refused, "refused": writing.reasons}


class _Writing:
    """The documents that have been read and not yet written, and what became of the others."""

    def __init__(self, changes: ChangeQueue, durable: bool) -> None:
        self._changes, self._durable = changes, durable
        self._documents: dict[int | str, tuple[int, Document]] = {}
        self._n_bytes = 0
        self.n = self.n_refused = 0
        self.reasons: list[str] = []

    def take(self, number: int, line: bytes) -> None:
        """Read one line; of two documents with one id in a batch the later stands."""
        try:
            own = Document.model_validate_json(line)
        except ValidationError as error:
            self._refuse(number, refusal(error).detail)
            return
        if self._documents.pop(own.id, None) is not None:
            self.n += 1  # it was accepted, and replaced at once
        self._documents[own.id] = number, own
        self._n_bytes += len(line)

    def full(self) -> bool:
        """Whether it is time to write."""
        return len(self._documents) >= BATCH or self._n_bytes >= BATCH_BYTES

    async def write(self) -> None:
        """Write what was read. If one document is wrong the others are written without it."""
        batch, self._documents, self._n_bytes = list(self._documents.values()), {}, 0
        if batch:
            await self._write(batch)

    async def _write(self, batch: list[tuple[int, Document]]) -> None:
        try:
            self.n += await self._changes.change(upsert([own for _, own in batch]), durable=self._durable)
        except Error as error:
            problem = refusal(error)
            if problem.status != 400:
                raise
            if len(batch) == 1:
                self._refuse(batch[0][0], problem.detail)
                return
            half = len(batch) // 2  # the wrong one is found by halves
            await self._write(batch[:half])
            await self._write(batch[half:])

    def _refuse(self, number: int, why: str) -> None:
        self.n_refused += 1
        if len(self.reasons) < _REASONS:
            self.reasons.append(f"line {number}: {why}")


async def _lines(request: Request, longest: int) -> AsyncIterator[tuple[int, bytes]]:
    """Yield lines with their numbers, from 1; empty ones are left out."""
    number, rest = 0, b""
    async for chunk in request.stream():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            _check_length(line, number, longest)
            if line.strip():
                yield number, line
        _check_length(rest, number + 1, longest)
    if rest.strip():
        yield number + 1, rest


def _check_length(line: bytes, number: int, longest: int) -> None:
    if len(line) > longest:
        raise Refused(413, f"Line {number} is longer than {longest} bytes.")
