"""Is the index whole? Every checksum, and every invariant of model and segments."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from hi2 import _native
from hi2.codecs import Codec, Flat, Half, RaBitQ
from hi2.data.ragged import Ragged
from hi2.data.stored_line import check_line
from hi2.data.vectors import LARGEST
from hi2.errors import Error, FormatError
from hi2.filters.columns import Columns
from hi2.reports.verify_words import verify_bags, verify_statistics
from hi2.selectors.terms import LearnedTerms
from hi2.state.index_state import State
from hi2.state.model import Model, finite
from hi2.state.segment import Segment, width
from hi2.state.snapshot import LiveSegment, Snapshot
from hi2.store.checksums import check_files
from hi2.store.named_files import Stored
from hi2.types import Array, Bytes


def verify(state: State, stored: Stored | None) -> None:
    """Raise FormatError at the first checksum or invariant that does not hold."""
    if stored is not None:
        check_files(stored)
    try:
        _verify_model(state.model)
        for number, live in enumerate(state.snapshot.segments):
            _verify_segment(state.model, live, number)
        _verify_ids_once(state.snapshot)
        for profile in state.profiles.values():
            profile.check(state.model)
        if any(live.segment.id_column().next_integer() > state.next_id for live in state.snapshot.segments):
            raise FormatError("The manifest's next_id is an id that is in use.")
    except FormatError:
        raise
    except (Error, ValueError, IndexError) as error:
        raise FormatError(f"The index is damaged: {error}.") from error


def _require(holds: Any, number: int, what: str) -> None:
    if not bool(holds):
        raise FormatError(f"Segment {number} is damaged: {what}.")


def _verify_model(model: Model) -> None:
    verify_statistics(model)
    if model.terms is not None and isinstance(model.terms.spec, LearnedTerms) and model.terms.spec.scorer is not None:
        model.terms.spec.scorer.check_weights()
    model.check_finite()


def _verify_segment(model: Model, live: LiveSegment, number: int) -> None:
    segment = live.segment
    n = segment.n_docs
    _require(np.array_equal(np.sort(segment.rows), np.arange(n)), number, "its rows are not a permutation")
    labels = segment.labels()
    rows = segment.rows
    same = labels[1:] == labels[:-1]
    _require(np.all(~same | (rows[1:] > rows[:-1])), number, "documents of a cluster are not in order of arrival")
    order = _native.unpack(segment.arrays["by_id.npy"], width(n - 1), n)
    _require(np.array_equal(np.sort(order), np.arange(n)), number, "its id order is not a permutation")
    _verify_id_order(segment, order, number)
    _verify_postings(model, segment, number)
    verify_bags(model, segment, number)
    if live.alive is not None:
        spare = live.alive[-1] >> (n - 1) % 8 + 1 if n else 0
        _require(spare == 0 and live.n_alive > 0, number, "its alive bits do not fit its documents")
    for name, codec in (("codes.npy", model.codec), ("refine_codes.npy", model.refine)):
        if codec is not None:
            floats = _floats_of(codec, segment.arrays[name])
            _require(floats is None or finite(floats), number, f"{name} has a value that is not finite")
            if floats is not None and isinstance(codec.spec, Flat):
                _require(finite(floats, LARGEST), number, f"{name} has a value beyond {LARGEST:.0e}")
    if segment.keeps_documents:
        _verify_stored(segment, number)


def _floats_of(codec: Codec, codes: Bytes) -> Array | None:
    """The floats that codes hold; None where they hold none."""
    if isinstance(codec.spec, (Flat, Half)):
        return codes.view(np.float32 if isinstance(codec.spec, Flat) else np.float16)
    if isinstance(codec.spec, RaBitQ):  # the factor after the bit planes; it need not be aligned
        return np.ascontiguousarray(codes[:, -4:]).view(np.float32)
    return None


def _verify_stored(segment: Segment, number: int) -> None:
    """Every line is one object of text and payload, and the columns are those of the payloads."""
    payloads = (check_line(line).get("payload", {}) for line in segment.stored_lines())
    stored = Columns.read(segment.arrays, segment.n_docs) if "columns.json" in segment.arrays else None
    paths, free = (True, frozenset[str]()) if stored is None else (stored.paths, stored.free)
    made = Columns.of_payloads(payloads, segment.docs(), paths=paths, free=free)
    if stored is not None:
        wrong = made.difference(stored)
        _require(wrong is None, number, f"its columns are not those of stored.jsonl: {wrong} differ")


def _verify_id_order(segment: Segment, order: Array, number: int) -> None:
    column = segment.id_column()
    if isinstance(column.values, Ragged):
        begins = column.values.ends - column.values.lengths
        positions = segment.arrays["id_positions.npy"]
        _require(np.array_equal(positions, begins[:: _native.ID_BLOCK]), number, "its id positions are wrong")
        try:
            ids = [row.decode() for row in column.values.rows()]
        except UnicodeDecodeError as error:
            raise FormatError(f"Segment {number} is damaged: an id is not valid UTF-8.") from error
        texts = [ids[row].encode() for row in segment.rows[order.astype(np.int64)]]
        _require(all(a < b for a, b in pairwise(texts)), number, "its ids are not in order")
    else:
        _require(not len(column) or column.values.min() >= 0, number, "an id is negative")
        values = column.values[segment.rows[order.astype(np.int64)]]
        _require(np.all(values[1:] > values[:-1]), number, "its ids are not in order")


def _verify_postings(model: Model, segment: Segment, number: int) -> None:
    for name, (keys, docs, ranks), deepest in (
        ("term", segment.native.term_postings(), model.per_doc),
        ("copy", segment.native.copy_postings(), 1),
        ("note", segment.native.note_postings(), 1),
    ):
        rising = (keys[1:] != keys[:-1]) | (docs[1:] > docs[:-1])
        _require(rising.all(), number, f"a {name} list does not rise")
        _require(np.all(ranks < max(deepest, 1)), number, f"a {name} list has a rank beyond per_doc")
        pairs = docs.astype(np.uint64) << np.uint64(16) | ranks.astype(np.uint64)
        if name == "term":
            _require(len(np.unique(pairs)) == len(pairs), number, "a document has two terms of one rank")


def _verify_ids_once(snapshot: Snapshot) -> None:
    """An id is alive in one segment only."""
    if len(snapshot.segments) < 2:
        return
    seen: set[Any] = set()
    for number, live in enumerate(snapshot.segments):
        rows = live.segment.rows[live.flags()].astype(np.uint32)
        own = live.segment.take_ids(rows)
        _require(seen.isdisjoint(own), number, "an id is alive in two segments")
        seen.update(own)
