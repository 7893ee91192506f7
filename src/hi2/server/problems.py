"""What is a client told when something goes wrong? A status and a sentence, without paths and tracebacks."""

from __future__ import annotations

import errno
import logging

from pydantic import ValidationError

from hi2.errors import InvalidParameter, Locked, MissingExtra, ReadOnly
from hi2.server.admission import Overloaded
from hi2.server.answers import to_json
from hi2.server.collection import Conflict, NoSuchCollection

_log = logging.getLogger("hi2.server")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}

    def body(self) -> bytes:
        """Return what is sent."""
        return to_json({"detail": self.detail})


#: The errors of a client and of what it meets: their status, and what is said where the message itself is not.
_FORESEEN: list[tuple[type[BaseException] | tuple[type[BaseException], ...], int, str | None]] = [
    (NoSuchCollection, 404, None),
    (Conflict, 409, None),
    ((InvalidParameter, MissingExtra), 400, None),
    (ReadOnly, 403, "This collection is read only."),
    (Locked, 409, "Another process writes to this collection. Try again when it has finished."),
]


def refusal(error: BaseException) -> Refused:
    """Return how an error is answered. What is not the client's doing is logged, and named in general only."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, Overloaded):
        return Refused(429, "The server is busy. Try again in a second.", {"retry-after": "1"})
    if isinstance(error, ValidationError):
        return Refused(422, "; ".join(_said(own) for own in error.errors(include_url=False, include_input=False)[:5]))
    for kind, status, said in _FORESEEN:
        if isinstance(error, kind):
            return Refused(status, said or str(error))
    if _disk_is_full(error):
        _log.error("The disk is full: %s", error)
        return Refused(507, "The disk is full. Nothing was stored; the last commit stands.")
    _log.error("A request failed", exc_info=error)
    return Refused(500, "The server failed to answer; its log says why.")


def _said(error: object) -> str:
    place = ".".join(str(part) for part in error["loc"])  # type: ignore[index]
    return f"{place + ': ' if place else ''}{error['msg']}"  # type: ignore[index]


def _disk_is_full(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__
    return False
