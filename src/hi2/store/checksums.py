"""Are the files of an index those that were written? Every checksum, and every count that the manifest states."""

from __future__ import annotations

from pathlib import Path

from hi2.errors import FormatError
from hi2.store.arrays import check_array, check_file
from hi2.store.manifest import MANIFEST, read_manifest
from hi2.store.named_files import Stored, entries, model_checksum, named_files, well_formed
from hi2.types import Array


def check_files(stored: Stored) -> None:
    """Raise FormatError if a file of the state is not what was written, or the manifest contradicts the files."""
    read_manifest(stored.folder)
    for path, entry in named_files(stored.folder, stored.manifest):
        try:
            check_file(path, entry)
        except FileNotFoundError:  # a later commit has removed it: what is open must still be what was written
            check_array(path, entry, _open_arrays(stored)[path])
    manifest, snapshot = stored.manifest, stored.state.snapshot
    with well_formed(stored.folder):
        model = manifest["model"]
        checksum = model_checksum(model["parts"], entries(model["files"]))
        stated = [manifest["n_docs"], *(data["n_alive"] for data in manifest["segments"]), model["fingerprint"]]
        actual = [snapshot.n_alive, *(live.n_alive for live in snapshot.segments), checksum]
        if stated != actual:
            raise FormatError(f"{stored.folder / MANIFEST} states {stated} where the files hold {actual}.")


def _open_arrays(stored: Stored) -> dict[Path, Array]:
    """The arrays of a state by the files that the manifest names for them."""
    state, manifest, folder = stored.state, stored.manifest, stored.folder
    _, model_arrays = state.model.to_arrays()
    arrays = {folder / manifest["model"]["folder"] / name: array for name, array in model_arrays.items()}
    for live, data in zip(state.snapshot.segments, manifest["segments"], strict=True):
        own = folder / data["folder"]
        arrays |= {own / name: array for name, array in live.segment.arrays.items()}
        if live.alive is not None and data["alive"] is not None:
            arrays[own / data["alive"]["file"]] = live.alive
    if state.added.df is not None and manifest["drift"]["df"] is not None:
        arrays[folder / manifest["drift"]["df"]["file"]] = state.added.df
    return arrays
