"""What does training produce? Fitted parts that go into an index, with a record of what they were trained on."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hi2.codecs.codec import Codec
from hi2.errors import Error, FormatError, invalid
from hi2.selectors.clusters import ClusterSelector
from hi2.selectors.terms import TermSelector
from hi2.state.model import Model
from hi2.store.arrays import FileEntry, FolderSink, check_file, map_file, put_array
from hi2.store.folder import Folder
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
        """Write the parts to a folder; the list of files comes last, so a folder with it is whole."""
        folder = Path(path)
        if (folder / PARTS).exists():
            raise invalid("path", "a folder without trained parts", f"'{folder}'; remove them or choose another")
        part = folder.with_name(folder.name + ".part")
        try:
            shutil.rmtree(part, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            part.mkdir()
            sink = FolderSink(Folder.open(part))
            description, arrays = self.model.to_arrays()
            for name, array in arrays.items():
                put_array(sink, name, array)
            if self.weights is not None:
                for name in _WEIGHTS:
                    put_array(sink, f"weights_{name}.npy", getattr(self.weights, name))
            files = {name: entry.to_json() for name, entry in sink.entries.items()}
            data = {"model": description, "record": self.record, "files": files}
            (part / PARTS).write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")
            folder.mkdir(exist_ok=True)
            for file in sorted(part.iterdir(), key=lambda file: file.name == PARTS):  # the list of files last
                file.replace(folder / file.name)
            part.rmdir()
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise Error(f"{folder} cannot be written: {error}. Make room and save again.") from error

    @classmethod
    def load(cls, path: str | Path) -> Parts:
        """Read what ``save`` wrote; every checksum is checked."""
        folder = Path(path)
        try:
            held = Folder.open(folder)
            data = json.loads((folder / PARTS).read_text(encoding="utf-8"))
            entries = {name: FileEntry.from_json(entry) for name, entry in data["files"].items()}
            arrays: dict[str, Array] = {}
            for name, entry in entries.items():
                arrays[name] = map_file(held, name, entry)
                check_file(held, name, entry)
            if "query_map.npy" in arrays:
                raise FormatError(f"{folder} is of an earlier version, which kept a map of queries apart. Train again.")
            weights = None
            if "weights_terms.npy" in arrays:
                weights = Bags(*(arrays[f"weights_{name}.npy"] for name in _WEIGHTS))
            model = Model.from_arrays(data["model"], arrays)
            return cls(model, data["record"], weights)
        except FileNotFoundError as error:
            raise invalid("parts", "a folder that 'hi2 train' wrote", f"'{folder}' ({error})") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
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
