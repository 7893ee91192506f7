"""What is committed? One JSON file names every other file; replacing it is the commit.

The manifest holds a checksum of its own content, and its bytes must be exactly what that content serialises to, so no
change to it goes unnoticed. ``manifest.previous.json`` is the manifest before it; its files are kept for readers that
are about to open them.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hi2.errors import FormatError, UnsupportedVersion

FORMAT_VERSION = 1
OLDEST_READABLE_VERSION = 1

MANIFEST = "manifest.json"
PREVIOUS = "manifest.previous.json"


def serialise(content: dict[str, Any]) -> bytes:
    """Return the manifest file of ``content``."""
    body = {key: content[key] for key in content if key != "checksum"}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return (json.dumps({**body, "checksum": digest}, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Return a folder's manifest, or raise FormatError or UnsupportedVersion."""
    path = folder / name
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FormatError(f"{folder} is not a hi2 index: it has no {name}.") from error
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error}.") from error
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}); restore it from a copy.") from error
    if not isinstance(content, dict) or content.get("format") != "hi2":
        raise FormatError(f"{path} is not the manifest of a hi2 index.")
    version = content.get("version")
    if isinstance(version, int) and not OLDEST_READABLE_VERSION <= version <= FORMAT_VERSION:
        raise UnsupportedVersion(
            f"{path} has format version {version}; this release reads {OLDEST_READABLE_VERSION} to {FORMAT_VERSION}. "
            + ("Install a newer hi2." if version > FORMAT_VERSION else "Rebuild it, or open it with an older hi2.")
        )
    try:
        intact = serialise(content) == data
    except (ValueError, RecursionError):  # a lone surrogate cannot be written back
        intact = False
    if not intact:
        raise FormatError(f"{path} was altered: its checksum is not that of its content; restore it from a copy.")
    return content


def write_manifest(folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Commit ``content`` and return the manifest as it reads back; the one before becomes the previous manifest."""
    data = serialise({**content, "format": "hi2", "version": FORMAT_VERSION})
    current = folder / MANIFEST
    if current.exists():
        replace_file(folder / PREVIOUS, current.read_bytes())
    replace_file(current, data)
    written: dict[str, Any] = json.loads(data)
    return written


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file's content. After a crash the file holds the old content or the new, never a mixture."""
    aside = path.with_name(path.name + ".new")
    with aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "nt":  # Windows has no handle for this
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
