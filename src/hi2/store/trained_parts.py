"""What does training produce? Fitted parts that go into an index, with a record of what they were trained on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hi2.arguments import folder_path
from hi2.codecs.codec import Codec
from hi2.errors import Error, FormatError, invalid
from hi2.selectors.clusters import ClusterSelector
from hi2.selectors.terms import TermSelector
from hi2.state.model import Model
from hi2.store.arrays import FileEntry, FolderSink, check_file, map_file, put_array
from hi2.store.folder import Folder
from hi2.store.manifest import MAX_BYTES
from hi2.store.named_files import plain_name
from hi2.text.bags import Bags
from hi2.types import Array

PARTS = "parts.json"
_WEIGHTS = ("offsets", "terms", "values", "lengths")


@dataclass(frozen=True)
class Parts:
    """Trained selectors and codec. Pass single parts to ``HybridIndex.build``, or all of them to ``HybridIndex.refit``.

    ``weights`` are the scores of the collection's terms, where a scorer computed them; they spare scoring the texts
    again. ``record`` holds settings, checksums of the data, versions and curves.
    """

    model: Model
    record: Mapping[str, Any] = field(default_factory=dict)
    weights: Bags | None = None

    @property
    def clusters(self) -> ClusterSelector | None:
        """The clusters, their centroids trained."""
        return self.model.clusters

    @property
    def terms(self) -> TermSelector | None:
        """The term selector, its scores trained."""
        return self.model.terms

    @property
    def codec(self) -> Codec:
        """The codec, its codebooks trained."""
        return self.model.codec

    @property
    def term_weights(self) -> Any:
        """The scores of the collection's terms for ``build(term_weights=…)``, None where terms are counted."""
        return None if self.weights is None else _Rows(self.weights)

    def save(self, path: str | Path) -> None:
        """Write the parts to a folder; the list of files comes last, so a folder with it is whole.

        The folder may hold other files, which stay as they are.
        """
        folder = folder_path("path", path)
        if (folder / PARTS).exists():
            raise invalid("path", "a folder without trained parts", f"'{folder}'; remove them or choose another")
        aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:12]}.new")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            aside.mkdir()
            with Folder.open(aside) as own:
                self._write(own)
            names = sorted((file.name for file in aside.iterdir()), key=lambda name: name == PARTS)
            taken = [name for name in names if os.path.lexists(folder / name)]
            if taken:
                got = f"'{folder}', which has '{taken[0]}'; remove it or choose another"
                raise invalid("path", "a folder without files of the same names", got)
            folder.mkdir(exist_ok=True)
            for name in names:  # the list of files last
                (aside / name).rename(folder / name)
        except OSError as error:
            raise Error(f"{folder} cannot be written: {error}. Make room and save again.") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)  # made here under a name of its own

    def _write(self, folder: Folder) -> None:
        sink = FolderSink(folder)
        description, arrays = self.model.to_arrays()
        for name, array in arrays.items():
            put_array(sink, name, array)
        if self.weights is not None:
            for name in _WEIGHTS:
                put_array(sink, f"weights_{name}.npy", getattr(self.weights, name))
        files = {name: entry.to_json() for name, entry in sink.entries.items()}
        try:
            listed = {"model": description, "record": self.record, "files": files}
            text = json.dumps(listed, indent=1, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise invalid("record", "JSON data", str(error)) from error
        folder.replace(PARTS, text)

    @classmethod
    def load(cls, path: str | Path) -> Parts:
        """Read what ``save`` wrote; every checksum is checked."""
        folder = folder_path("parts", path)
        listed = folder / PARTS
        if not os.path.lexists(listed):
            raise invalid("parts", "a folder that 'hi2 train' wrote", f"'{folder}', which has no {PARTS}")
        try:
            with Folder.open(folder) as own:
                data = json.loads(own.read(PARTS, limit=MAX_BYTES))
                arrays = {name: _read(own, name, entry) for name, entry in data["files"].items()}
            if "query_map.npy" in arrays:
                raise FormatError(f"{folder} is of an earlier version, which kept a map of queries apart. Train again.")
            model = Model.from_arrays(data["model"], arrays)
            model.check_finite()
            record = data["record"]
            if not isinstance(record, dict) or not isinstance(record.get("data", {}), dict):
                raise FormatError(f"{listed}: its record is not an object.")
            return cls(model, record, _read_weights(arrays, model.n_terms))
        except FormatError:
            raise
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise FormatError(f"{folder} cannot be read: {error}.") from error

    def check(self, model: Model) -> None:
        """Refuse parts of another dimension, clustering or tokenizer than the index has."""
        if self.model.dim != model.dim or self.model.metric != model.metric:
            got = f"dimension {self.model.dim}, {self.model.metric}"
            raise invalid("parts", f"trained for dimension {model.dim}, {model.metric}", got)
        own, other = self.clusters, model.clusters
        if (own is None) != (other is None):
            raise invalid("parts", "trained with clusters, as the index is built, or without as it is", "the other way")
        if own is not None and other is not None and not np.array_equal(own.anchors, other.anchors):
            raise invalid("parts", "trained for this index's clustering", "another's")
        mine, its = self.terms, model.terms
        if mine is not None and its is not None and mine.tokenizer.fingerprint != its.tokenizer.fingerprint:
            raise invalid("parts", "trained for this index's tokenizer", "another's")


def _read(folder: Folder, name: str, entry: Mapping[str, Any]) -> Array:
    """An array of the folder, its checksum checked."""
    try:
        own = plain_name(folder, name)
    except FormatError:
        raise FormatError(f"{folder.path / PARTS} names a file outside its folder: {name!r}.") from None
    stated = FileEntry.from_json(entry)
    array = map_file(folder, own, stated)
    check_file(folder, own, stated)
    return array


def _read_weights(arrays: Mapping[str, Array], n_terms: int) -> Bags | None:
    """The weights among the arrays of a folder, None without them."""
    if "weights_terms.npy" not in arrays:
        return None
    weights = Bags(*(arrays[f"weights_{name}.npy"] for name in _WEIGHTS))
    offsets, terms, values, lengths = (getattr(weights, name) for name in _WEIGHTS)
    kinds = [(own.ndim, own.dtype.kind) for own in (offsets, terms, values)]
    rows = np.diff(offsets.astype(np.int64))
    if (
        kinds != [(1, "u"), (1, "u"), (1, "f")]
        or lengths.shape != rows.shape
        or (int(offsets[0]), int(offsets[-1])) != (0, len(terms))
        or (rows < 0).any()
        or (terms >= n_terms).any()
        or values.shape != terms.shape
        or not np.isfinite(values).all()
    ):
        raise FormatError("The parts are damaged: their weights are not one row of terms a document.")
    return weights


@dataclass(frozen=True)
class _Rows:
    """Bags as a CSR matrix."""

    bags: Bags

    @property
    def indptr(self) -> Array:
        """Where rows begin."""
        return self.bags.offsets.astype(np.int64)

    @property
    def indices(self) -> Array:
        """The terms."""
        return self.bags.terms

    @property
    def data(self) -> Array:
        """Their weights."""
        return self.bags.values


def checksum(*arrays: Array) -> str:
    """Return a short checksum of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def text_checksum(texts: Iterable[str]) -> str:
    """Return a short checksum of some texts and their order."""
    digest = hashlib.sha256()
    for text in texts:
        own = text.encode("utf-8", "surrogatepass")
        digest.update(len(own).to_bytes(8, "little") + own)
    return digest.hexdigest()[:16]
