"""How many searches found no term list? A count for ``info`` and ``health``."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from hi2.data.fork import make_locks
from hi2.types import Hits


class SearchCounts:
    """Counts texts that were searched for, and those that opened no term list. Safe to use from many threads."""

    def __init__(self) -> None:
        self.with_text = 0
        self.without_term_list = 0
        make_locks(self)

    def renew_locks(self) -> None:
        """Make the lock. A fork between the two counts leaves the second one behind the first."""
        self._lock = Lock()

    def count(self, texts: str | Sequence[str | None] | None, hits: Hits) -> None:
        """Count one search."""
        if texts is None:
            return
        opened = [hits.n_term_lists] if isinstance(texts, str) else hits.n_term_lists
        rows = [texts] if isinstance(texts, str) else texts
        asked = [n for n, text in zip(opened, rows, strict=True) if text]
        with self._lock:
            self.with_text += len(asked)
            self.without_term_list += sum(int(n) == 0 for n in asked)

    def report(self) -> dict[str, int]:
        """Return the counts as data."""
        return {"with_text": self.with_text, "without_term_list": self.without_term_list}
