"""Change files of a stored index and correct every checksum, so that only their meaning is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hi2.store.arrays import FileEntry, write_file
from hi2.store.folder import Folder
from hi2.store.manifest import MANIFEST, serialise
from hi2.store.named_files import model_checksum


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with corrected checksums, also that of the model where it can be computed."""
    with suppress(Exception):
        model = manifest["model"]
        files = {name: FileEntry.from_json(entry) for name, entry in model["files"].items()}
        model["fingerprint"] = model_checksum(model["parts"], files)
    (folder / MANIFEST).write_bytes(serialise(manifest))


def read_array(folder: Path, part: dict[str, Any], name: str) -> np.ndarray:
    """Return a copy of a stored array; ``part`` is the manifest's model or one of its segments."""
    entry = part["files"][name]
    data = (folder / part["folder"] / name).read_bytes()
    size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
    return np.frombuffer(data[len(data) - size :], entry["dtype"]).reshape(entry["shape"]).copy()


def write_array(folder: Path, part: dict[str, Any], name: str, array: np.ndarray) -> None:
    """Replace or add a stored array, and what the manifest says about it."""
    own = Folder.open(folder / part["folder"])
    own.unlink(name)
    part["files"][name] = write_file(own, name, array.dtype, array.shape, [array] if len(array) else []).to_json()


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply a change to the manifest, and to files by ``write_array``; correct the checksums of both."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    change(manifest)
    write_manifest(folder, manifest)


def rewrite_array(folder: Path, name: str, change: Callable[[np.ndarray], Any]) -> None:
    """Change one array of the model or of the first segment in place; a changed copy may be returned instead."""

    def changed(manifest: dict[str, Any]) -> None:
        part = next(own for own in (manifest["model"], manifest["segments"][0]) if name in own["files"])
        array = read_array(folder, part, name)
        other = change(array)
        write_array(folder, part, name, array if other is None else other)

    rewrite(folder, changed)


def rewrite_line(folder: Path, row: int, line: bytes) -> None:
    """Replace one stored line of the first segment."""

    def changed(manifest: dict[str, Any]) -> None:
        part = manifest["segments"][0]
        data, ends = (read_array(folder, part, name) for name in ("stored.jsonl", "stored_ends.npy"))
        lines = [data[begin:end].tobytes() for begin, end in zip([0, *ends], ends, strict=False)]
        lines[row] = line
        write_array(folder, part, "stored.jsonl", np.frombuffer(b"".join(lines), np.uint8))
        write_array(folder, part, "stored_ends.npy", np.cumsum([len(own) for own in lines], dtype=np.uint64))

    rewrite(folder, changed)
