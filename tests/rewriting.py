"""Change files of a stored index and correct every checksum, so that only their meaning is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hi2.store.arrays import write_file
from hi2.store.manifest import MANIFEST, serialise
from hi2.store.named_files import entries, model_checksum


def read_array(folder: Path, part: dict[str, Any], name: str) -> np.ndarray:
    """Return a copy of a stored array; ``part`` is the manifest's model or one of its segments."""
    entry = part["files"][name]
    data = (folder / part["folder"] / name).read_bytes()
    size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
    return np.frombuffer(data[len(data) - size :], entry["dtype"]).reshape(entry["shape"]).copy()


def write_array(folder: Path, part: dict[str, Any], name: str, array: np.ndarray) -> None:
    """Replace or add a stored array, and what the manifest says about it."""
    path = folder / part["folder"] / name
    path.unlink(missing_ok=True)
    part["files"][name] = write_file(path, array.dtype, array.shape, [array] if len(array) else []).to_json()


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply a change to the manifest, and to files by ``write_array``; correct the checksums of both."""
    path = folder / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    model = manifest["model"]
    model["fingerprint"] = model_checksum(model["parts"], entries(model["files"]))
    path.write_bytes(serialise(manifest))


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
