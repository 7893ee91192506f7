"""How much may one request ask for? Sizes, counts and times, checked before any work is done."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hi2.errors import described, invalid


@dataclass(frozen=True)
class Limits:
    """What the server accepts. Most of the numbers are options of ``hi2 serve``.

    >>> Limits(k=50).k
    50
    """

    #: Bytes of a request's body, and of one line of a bulk request.
    body: int = 8 << 20
    #: Queries of one search, and documents of one request that is not a bulk one.
    batch: int = 256
    #: Hits of one query, the skipped ones included.
    k: int = 1000
    #: Hits of all queries of a request together, and of those that are explained.
    hits: int = 20_000
    explained: int = 200
    #: Characters of a filter.
    filter: int = 4096
    #: Seconds in which a request must have arrived and been answered; a bulk request may take this for every batch.
    seconds: float = 30.0
    #: Searches that are answered at the same time. More are refused with 429.
    searches: int = 32
    #: Changes that may wait for the writer of a collection.
    changes: int = 256
    #: Connections that may be open.
    connections: int = 1024

    def __post_init__(self) -> None:
        """Refuse numbers that would refuse every request."""
        for own in fields(self):
            value = getattr(self, own.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1 << 40:
                raise invalid(f"limits.{own.name}", "a number above 0", described(value))
