"""What is committed? One JSON file names every other file; replacing it is the commit.

The manifest holds a checksum of its own content, and its bytes must be exactly what that content serialises to, so no
change to it goes unnoticed. ``manifest.previous.json`` is the manifest before it; its files are kept for readers that
are about to open them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hi2.errors import FormatError, UnsupportedVersion
from hi2.store.folder import Folder

FORMAT_VERSION = 4
OLDEST_READABLE_VERSION = 1

MANIFEST = "manifest.json"
PREVIOUS = "manifest.previous.json"
#: A manifest with more bytes is refused before it is read.
MAX_BYTES = 1 << 28


def serialise(content: dict[str, Any]) -> bytes:
    """Return the manifest file of ``content``."""
    body = {key: content[key] for key in content if key != "checksum"}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return (json.dumps({**body, "checksum": digest}, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Folder, name: str = MANIFEST) -> dict[str, Any]:
    """Return a folder's manifest, or raise FormatError or UnsupportedVersion."""
    path = folder.path / name
    try:
        data = folder.read(name, limit=MAX_BYTES)
    except FileNotFoundError as error:
        raise FormatError(f"{folder} is not a hi2 index: it has no {name}.") from error
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error}.") from error
    try:
        content = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}); restore it from a copy.") from error
    if not isinstance(content, dict) or content.get("format") != "hi2":
        raise FormatError(f"{path} is not the manifest of a hi2 index.")
    version = content.get("version")
    if type(version) is not int:
        raise FormatError(f"{path} has no format version, a whole number; it has {version!r}. Restore it from a copy.")
    if not OLDEST_READABLE_VERSION <= version <= FORMAT_VERSION:
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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def new_manifest(content: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of ``content`` as it will read back."""
    manifest: dict[str, Any] = json.loads(serialise({**content, "format": "hi2", "version": FORMAT_VERSION}))
    return manifest


def write_manifest(folder: Folder, manifest: dict[str, Any]) -> None:
    """Commit a manifest; the one before becomes the previous manifest."""
    if folder.stat(MANIFEST) is not None:
        folder.copy_over(MANIFEST, PREVIOUS, limit=MAX_BYTES)
    folder.replace(MANIFEST, serialise(manifest))
