"""What is an index at one moment? Its model, its documents, its profiles, and what has been counted. Immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hi2 import _native
from hi2.data.lazy import lazy
from hi2.filters.column_types import ColumnTypes
from hi2.selectors.terms import BM25
from hi2.state.drift import Added
from hi2.state.model import Model
from hi2.state.profile import Profile
from hi2.state.snapshot import Snapshot


@dataclass(frozen=True)
class State:
    """Everything an index is. A change makes another state; a search reads one and is not disturbed by changes."""

    model: Model
    snapshot: Snapshot
    added: Added
    next_id: int
    keep_text: bool
    #: By name. ``add_profiles`` and ``verify`` check that they were tuned for this model; opening an index does not.
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    #: The types that columns of the payload were declared to have, by name.
    columns: Mapping[str, str] = field(default_factory=dict)

    #: Whether the number of clusters and the codec were left to the index: then it fits them again as it grows.
    grows: bool = False

    def column_types(self) -> ColumnTypes:
        """Return the type of every column: as declared, and as the documents have them."""
        return ColumnTypes.of(self.columns, (live.segment.columns for live in self.snapshot.segments))

    def lacks_for_a_fit(self) -> str | None:
        """Return why the parts cannot be fitted again to what is stored, in words; None if they can."""
        terms, finest = self.model.terms, self.model.codec if self.model.refine is None else self.model.refine
        if not finest.gives_back:
            return f"{finest.spec} keeps too little of the vectors; build it with refine=SQ8()"
        if terms is None:
            return None
        if not isinstance(terms.spec, BM25) or terms.gains is not None:
            return "its terms are trained or given; use refit(parts), or build it anew"
        n = self.snapshot.n_without_text()
        return f"it does not keep the text of {n} documents; use refit(texts=...), or build it anew" if n else None

    @lazy
    def reader(self) -> _native.Reader:
        """Answers single queries of vector and text natively. The tokenizer is parsed when this is first used."""
        terms = self.model.terms
        if terms is None or terms.tokenizer.native is None:
            return self.vector_reader
        return self._reader(terms.tokenizer.native, terms.tokenizer.dropped, terms.mean_scores)

    @lazy
    def vector_reader(self) -> _native.Reader:
        """Answers single queries of a vector alone natively."""
        return self._reader(None, None, None)

    def _reader(self, *text: Any) -> _native.Reader:
        ids = [live.segment.ids for live in self.snapshot.segments]
        return _native.Reader(self.model.native, self.snapshot.native, ids, *text)
