"""What is a segment? An immutable set of filed documents, as arrays that are the same in memory and on disk.

Documents are numbered by cluster (``doc``). Ids, text and payload stay in order of arrival (``row``). ``FORMAT.md``
describes every array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import MAX_TERMS
from hi2.data.cache import LruCache
from hi2.data.ids import IdColumn
from hi2.data.lazy import lazy
from hi2.data.ragged import Ragged
from hi2.data.stored_line import read_line
from hi2.data.strings import open_strings, string_arrays, string_column
from hi2.errors import FormatError
from hi2.filters.columns import Columns
from hi2.state.model import Model
from hi2.types import I64, U32, Array, Bytes, Id

#: In place of the cluster of a document that has no vector.
NO_CLUSTER = 2**32 - 1
#: Stored lines are read this many at a time.
_LINES_PER_BLOCK = 512
#: The types of arrays that are not bytes.
_TYPES = {
    "ids.npy": ("<i8",),
    "id_lengths.npy": ("|u1", "<u2", "<u4"),
    "id_positions.npy": ("<u8",),
    "stored_ends.npy": ("<u8",),
}
_TWO_DIMENSIONS = ("codes.npy", "refine_codes.npy")


def width(largest: int) -> int:
    """Return how many bits a packed value up to ``largest`` takes."""
    return max(1, int(largest).bit_length())


@dataclass(frozen=True)
class SegmentMeta:
    """The counts that are needed to read a segment's arrays."""

    n_docs: int
    ids: str
    n_runs: int = 0
    n_copy_lists: int = 0
    n_term_lists: int = 0
    n_note_lists: int = 0
    #: Term numbers are below this; 0 before format version 3, where they are below the model's.
    n_terms: int = 0
    #: The last so many documents have no vector, and so no cluster and no codes.
    n_without_vector: int = 0
    pruned_lists: int = 0
    pruned_postings: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SegmentMeta:
        """Return what ``to_json`` wrote."""
        meta = cls(**{**data, "ids": str(data["ids"])})
        counts = [value for key, value in asdict(meta).items() if key != "ids"]
        if meta.ids not in ("int", "str") or any(type(n) is not int or not 0 <= n < 2**40 for n in counts):
            raise ValueError("a segment's numbers are out of range")
        if meta.n_docs >= 2**32 or meta.n_terms > MAX_TERMS or meta.n_without_vector > meta.n_docs:
            raise ValueError("a segment's numbers are out of range")
        return meta


class Segment:
    """Filed documents, ready to search. The constructor checks shapes and directories, not contents."""

    def __init__(self, model: Model, meta: SegmentMeta, arrays: Mapping[str, Array]) -> None:
        self.meta = meta
        self.arrays = arrays
        #: Term numbers of lists and bags are below this.
        self.n_terms = meta.n_terms or model.n_terms
        #: The documents that match a filter, by filter: one bit per document, deleted documents included.
        self.matches: LruCache[Bytes] = LruCache()
        _check_types(arrays)
        try:
            self.native = self._native_segment(model)
            self.ids = self._native_ids()
        except KeyError as error:
            raise FormatError(f"A segment has no array {error}.") from error
        except (ValueError, TypeError) as error:
            raise FormatError(f"The index is damaged: {error}. Run verify() to find the file.") from error
        if "stored_ends.npy" in arrays:
            if arrays["stored_ends.npy"].shape != (meta.n_docs,):
                raise FormatError("The index is damaged: stored_ends.npy is not one end per document.")
            if "stored.jsonl" not in arrays:
                raise FormatError("A segment has no array 'stored.jsonl'.")

    def _native_segment(self, model: Model) -> _native.Segment:
        meta, arrays = self.meta, self.arrays
        clusters = copies = terms = notes = bags = None
        if model.clusters is not None:
            clusters = self._directory("cluster", meta.n_runs, model.n_clusters, self.n_vectors)
        if meta.n_copy_lists:
            copies = self._lists("copy", meta.n_copy_lists, model.n_clusters, 0)
        if model.terms is not None:
            terms = self._lists("term", meta.n_term_lists, self.n_terms, rank_bits(model))
            if model.terms.evidence is not None:
                bags = self._bags()
                notes = self._lists("note", meta.n_note_lists, self.n_terms, 0)
        codes, refine = arrays["codes.npy"], arrays["refine_codes.npy"] if model.refine is not None else None
        for name, codec in (("codes.npy", model.codec), ("refine_codes.npy", model.refine)):
            if codec is not None and arrays[name].shape != (self.n_vectors, codec.code_bytes):
                raise FormatError(f"The index is damaged: {name} is not {codec.code_bytes} bytes per vector.")
        return _native.Segment(
            n_docs=meta.n_docs,
            codes=codes,
            refine_codes=refine,
            rows=arrays["rows.npy"],
            row_bits=width(meta.n_docs - 1),
            n_clusters=model.n_clusters,
            clusters=clusters,
            copies=copies,
            n_terms=self.n_terms,
            terms=terms,
            notes=notes,
            bags=bags,
            n_without_vector=meta.n_without_vector,
        )

    def _directory(self, name: str, n: int, n_keys: int, end: int) -> tuple[Bytes, int, Bytes, int, int]:
        keys, offsets = self.arrays[f"{name}_keys.npy"], self.arrays[f"{name}_offsets.npy"]
        return keys, width(n_keys - 1), offsets, width(end), n

    def _lists(self, name: str, n: int, n_keys: int, bits: int) -> tuple[Any, Bytes, int]:
        blob = self.arrays[f"{name}_lists.npy"]
        return self._directory(name, n, n_keys, len(blob) - _native.PADDING), blob, bits

    def _bags(self) -> tuple[Bytes, int, Bytes]:
        blob = self.arrays["bags.npy"]
        return self.arrays["bag_offsets.npy"], width(len(blob) - _native.PADDING), blob

    def _native_ids(self) -> _native.Ids:
        arrays, bits = self.arrays, width(self.meta.n_docs - 1)
        if self.meta.ids == "int":
            ids = _native.Ids.integers(arrays["ids.npy"], arrays["by_id.npy"], arrays["rows.npy"], bits)
        else:
            ids = open_strings(_id_strings(arrays), arrays["by_id.npy"], arrays["rows.npy"], bits)
        if len(ids) != self.meta.n_docs:
            raise FormatError(f"The index is damaged: {len(ids)} ids for {self.meta.n_docs} documents.")
        return ids

    @property
    def n_docs(self) -> int:
        """How many documents were filed, deleted ones included."""
        return self.meta.n_docs

    @property
    def n_vectors(self) -> int:
        """How many of them have a vector: documents from this number on have none."""
        return self.meta.n_docs - self.meta.n_without_vector

    @property
    def n_bytes(self) -> dict[str, int]:
        """Bytes by array."""
        return {name: int(array.nbytes) for name, array in self.arrays.items()}

    @lazy
    def rows(self) -> I64:
        """The arrival row of every document."""
        rows = _native.unpack(self.arrays["rows.npy"], width(self.n_docs - 1), self.n_docs).astype(np.int64)
        if len(rows) and rows.max() >= self.n_docs:
            raise FormatError("The index is damaged: a document's row does not exist. Run verify() to find the file.")
        return rows

    def docs(self) -> I64:
        """Return the document of every arrival row."""
        docs = np.empty(self.n_docs, np.int64)
        docs[self.rows] = np.arange(self.n_docs)
        return docs

    def labels(self) -> U32:
        """Return the cluster of every document: ``NO_CLUSTER`` if it has no vector, 0 in an index without clusters."""
        labels = np.full(self.n_docs, NO_CLUSTER, np.uint32)
        keys, offsets = self.native.clusters()
        labels[: self.n_vectors] = np.repeat(keys, np.diff(offsets).astype(np.int64)) if len(keys) else 0
        return labels

    def row_of(self, doc: int) -> int:
        """Return one document's row."""
        bits = width(self.n_docs - 1)
        at = doc * bits
        word = int.from_bytes(self.arrays["rows.npy"][at >> 3 : (at >> 3) + 8].tobytes(), "little")
        return (word >> (at & 7)) & ((1 << bits) - 1)

    def id_column(self) -> IdColumn:
        """Return all ids in order of arrival."""
        if self.meta.ids == "int":
            return IdColumn(np.asarray(self.arrays["ids.npy"]))
        column = string_column(_id_strings(self.arrays))
        if column is None:
            raise FormatError("The index is damaged: id lengths do not add up to the stored characters.")
        return IdColumn(column)

    def take_ids(self, rows: U32) -> list[Id]:
        """Return the ids of some rows."""
        return self.ids.take(rows)

    @lazy
    def columns(self) -> Columns:
        """The payload as typed columns, built from the stored lines where not all columns are stored."""
        if "columns.json" in self.arrays:
            columns = Columns.read(self.arrays, self.n_docs)
            if columns.paths or all(own.kind != "other" for own in columns.by_name.values()):
                return columns
        if not self.keeps_documents:
            return Columns(self.n_docs, [])
        return Columns.of_lines(self.stored_lines(), self.docs())

    # -- stored text and payload --------------------------------------------------------------------------------------

    @property
    def keeps_documents(self) -> bool:
        """Whether text or payload is stored."""
        return "stored_ends.npy" in self.arrays

    def stored_column(self) -> Ragged:
        """Return the stored JSON lines in order of arrival."""
        ends, data = self.arrays["stored_ends.npy"], self.arrays["stored.jsonl"]
        if len(ends) and (ends[-1] != len(data) or np.any(ends[1:] < ends[:-1])):
            raise FormatError("The index is damaged: stored_ends.npy does not fit stored.jsonl.")
        return Ragged(ends, data)

    def stored_lines(self) -> Iterator[bytes]:
        """Yield the stored JSON lines in order of arrival, a block of them in memory at a time."""
        column = self.stored_column()
        for begin in range(0, len(column), _LINES_PER_BLOCK):
            yield from column.take(np.arange(begin, min(begin + _LINES_PER_BLOCK, len(column)))).rows()

    def stored(self, row: int) -> dict[str, Any]:
        """Return the stored text and payload of one row, {} if nothing is stored."""
        if not self.keeps_documents:
            return {}
        ends, data = self.arrays["stored_ends.npy"], self.arrays["stored.jsonl"]
        begin, end = int(ends[row - 1]) if row else 0, int(ends[row])
        if not begin <= end <= len(data):
            raise FormatError("The index is damaged: stored_ends.npy does not fit stored.jsonl.")
        return read_line(data[begin:end].tobytes())


def _check_types(arrays: Mapping[str, Array]) -> None:
    """Refuse arrays of other types than a segment has; those of columns are checked when a filter reads them."""
    for name, array in arrays.items():
        if name.startswith("column_"):
            continue
        if array.dtype.str not in _TYPES.get(name, ("|u1",)) or array.ndim != 1 + (name in _TWO_DIMENSIONS):
            raise FormatError(f"The index is damaged: {name} is an array of {array.dtype}, {array.ndim}-dimensional.")


def rank_bits(model: Model) -> int:
    """Return how many bits the rank of a posting takes."""
    return 0 if model.per_doc <= 1 else width(model.per_doc - 1)


def alive_bits(flags: Iterable[bool] | Array) -> Bytes:
    """Return one bit per document; document 0 is the lowest bit of byte 0."""
    return np.packbits(np.asarray(flags, bool), bitorder="little")


def alive_flags(bits: Bytes | None, n_docs: int) -> Array:
    """Return one boolean per document."""
    if bits is None:
        return np.ones(n_docs, bool)
    return np.unpackbits(bits, count=n_docs, bitorder="little").astype(bool)


def id_arrays(column: IdColumn) -> dict[str, Array]:
    """Return the arrays that ids are stored in."""
    if not isinstance(column.values, Ragged):
        return {"ids.npy": column.values}
    return {f"id_{name}.npy": array for name, array in string_arrays(column.values).items()}


def _id_strings(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: arrays[f"id_{name}.npy"] for name in ("lengths", "positions", "characters")}
