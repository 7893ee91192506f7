"""Which searches are taken? So many at once as are answered in time; the others are refused before they are read.

The number is fixed. At 2,000 searches per second, 32 at once are answered in 16 ms each. Numbers that followed the
times of answers were tried: they fall when refusals themselves take the time, and then fewer and fewer are taken.
"""

from __future__ import annotations


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

    def enter(self) -> None:
        """Take a search; who was taken calls ``leave``."""
        self.n_running += 1

    def leave(self) -> None:
        """Say that a search has ended."""
        self.n_running -= 1
