"""Which searches are taken? So many at once as are answered in time; the others are refused before they are read.

The number is fixed. At 2,000 searches per second, 32 at once are answered in 16 ms each. Numbers that followed the
times of answers were tried: they fall when refusals themselves take the time, and then fewer and fewer are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Overloaded(Exception):
    """A request came when too many others were waiting."""


class Admission:
    """The searches that are being answered, ``most`` of them at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        #: Searches that are being answered.
        self.n_running = 0

    @property
    def full(self) -> bool:
        """Whether another search would be too many."""
        return self.n_running >= self._most

    @contextmanager
    def search(self) -> Iterator[None]:
        """Take a search for as long as it runs, or raise Overloaded. What has not arrived whole is not taken yet."""
        if self.full:
            raise Overloaded
        self.n_running += 1
        try:
            yield
        finally:
            self.n_running -= 1
