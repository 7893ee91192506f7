"""What does a forked child do with the locks it inherits? It makes them anew: a thread it lacks may have held them."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class HoldsLocks(Protocol):
    """Something with locks, whose state is valid at any moment that a thread may be interrupted."""

    def renew_locks(self) -> None:
        """Make the locks, at first or anew."""
        ...


_holders: weakref.WeakSet[HoldsLocks] = weakref.WeakSet()


def make_locks(holder: HoldsLocks) -> None:
    """Make the locks of ``holder``, now and in every forked child."""
    holder.renew_locks()
    _holders.add(holder)


def _after_fork() -> None:
    for holder in list(_holders):
        holder.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
