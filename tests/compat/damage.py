"""What do the tests of damage share? Using an index in every way, and rewriting its files with corrected checksums."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import hi2
from compat.make_index import queries
from hi2.store.arrays import PACK, npy_header
from rewriting import write_manifest


def use(folder: Path, *, mmap: bool = True, write: bool = False, thorough: bool = True) -> bool:
    """Open, search, explain and verify an index; return whether ``open`` or ``verify`` reported damage.

    Any exception other than one of hi2's own fails the test. With ``write`` the index is changed and committed too;
    ``thorough`` uses it in every way there is.
    """
    try:
        index = hi2.HybridIndex.open(folder, "w" if write else "r", mmap=mmap)
    except hi2.FormatError:
        return True
    vectors, texts = queries()
    attempts = [
        lambda: index.search(vectors, texts, k=90, clusters=6),
        lambda: index.search(vectors, texts, k=3, clusters=2, refine=0),
        lambda: index.search(vectors, texts, k=3, lexical=0),
        lambda: index.search(None, [*texts, "rare70x3 rare23x7"], k=90),
        lambda: index.explain(vectors[0], texts[0], id="doc-1"),
        lambda: index.get("doc-2"),
        index.ids,
        index.info,
        lambda: "doc-3" in index,
    ]
    if thorough:
        attempts += [
            lambda: index.search(vectors[0], texts[0], k=5, adaptive=0.3),
            lambda: index.search(vectors[0], texts[0], k=5, budget=20),
            lambda: index.search(vectors[0], texts[0], filter="n >= 3 and n < 60", k=50),
            lambda: index.search(vectors[0], texts[0], filter=["doc-1", "doc-2"], k=50),
            lambda: index.search(vectors[0], texts[0], group_by="n", k=5),
            lambda: index.search(vectors[0], "+red -stone bird", syntax=True, lexical=1e6, k=50),
            lambda: index.search(None, texts[0], filter="n < 9", k=50).explain(0),
            lambda: index.get(["doc-2", "doc-79"]),
            index.texts,
            index.health,
            lambda: repr(index),
        ]
    if write:
        attempts += [
            lambda: index.delete(["doc-1", "doc-2"]),
            lambda: index.upsert(vectors[:1], ["red stone"], ids=["doc-4"], payload=[{"n": 4}]),
            lambda: index.add(vectors[:1], ["blue bird unheardof"], ids=["new"], payload=[{"n": 5}]),
            lambda: index.search(None, "unheardof"),
            index.merge,
            index.commit,
        ]
    for attempt in attempts:
        with suppress(hi2.Error):  # the damage, or an id that is not found because of it
            attempt()
    try:
        index.verify()
    except hi2.FormatError:
        return True
    finally:
        index.close()
    return False


def named_files(folder: Path) -> list[Path]:
    """Return every file that the current manifest names, and the manifest itself."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = [folder / "manifest.json", *(folder / own["file"] for own in drift_files(manifest))]
    for part in (manifest["model"], *manifest["segments"]):
        files += [folder / part["folder"] / (PACK if "at" in own else name) for name, own in part["files"].items()]
        if part.get("alive"):
            files.append(folder / part["folder"] / part["alive"]["file"])
    return sorted(set(files))


def drift_files(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the files of what was added since the fit: counts of terms, and words if there are any."""
    return [own for own in (manifest["drift"]["df"], manifest["drift"]["words"]) if own is not None]


def entries(manifest: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what a manifest says about each file, by folder and name."""
    found = {("", own["file"]): own for own in drift_files(manifest)}
    for part in (manifest["model"], *manifest["segments"]):
        found |= {(part["folder"], name): entry for name, entry in part["files"].items()}
        if part.get("alive"):
            found[part["folder"], part["alive"]["file"]] = part["alive"]
    return found


def rewrite(folder: Path, place: tuple[str, str], array: np.ndarray) -> None:
    """Replace an array of an index; header, sizes and checksums say that it was always so."""
    manifest = json.loads((folder / "manifest.json").read_text())
    path = folder / place[0] / place[1]
    header = npy_header(array.dtype, array.shape) if path.suffix == ".npy" else b""
    data = header + np.ascontiguousarray(array).tobytes()
    path.write_bytes(data)
    entry = {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": len(data)}
    entries(manifest)[place].update(entry, sha256=hashlib.sha256(data).hexdigest())
    write_manifest(folder, manifest)
