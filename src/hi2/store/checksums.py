"""Are the files of an index those that were written? Every checksum, and every count that the manifest states."""

from __future__ import annotations

import numpy as np

from hi2.errors import FormatError
from hi2.store.arrays import check_array, check_file
from hi2.store.manifest import MANIFEST, read_manifest
from hi2.store.named_files import NamedFile, Stored, entries, model_checksum, named_files, well_formed
from hi2.types import Array


def check_files(stored: Stored) -> None:
    """Raise FormatError if a file of the state is not what was written, or the manifest contradicts the files."""
    read_manifest(stored.folder)
    for file in named_files(stored.folder, stored.manifest):
        _check(stored, file)
    manifest, snapshot = stored.manifest, stored.state.snapshot
    with well_formed(stored.folder):
        model = manifest["model"]
        checksum = model_checksum(model["parts"], entries(stored.folder, model["files"]))
        stated = [manifest["n_docs"], *(data["n_alive"] for data in manifest["segments"]), model["fingerprint"]]
        actual = [snapshot.n_alive, *(live.n_alive for live in snapshot.segments), checksum]
        if stated != actual or any(type(count) is not int for count in stated[:-1]):
            raise FormatError(f"{stored.folder.path / MANIFEST} states {stated} where the files hold {actual}.")


def _check(stored: Stored, file: NamedFile) -> None:
    folder = stored.folder
    try:
        if not file.folder:
            check_file(folder, file.name, file.entry)
            return
        with folder.child(file.folder) as own:
            check_file(own, file.name, file.entry)
    except FileNotFoundError as error:  # a later commit has removed it: what is open must still be what was written
        path = folder.path / file.folder / file.name
        array = _open_arrays(stored).get((file.folder, file.name))
        if array is None:
            raise FormatError(f"{path} is missing; restore it from a copy.") from error
        check_array(path, file.entry, array)


def _open_arrays(stored: Stored) -> dict[tuple[str, str], Array]:
    """The arrays of a state by the files that the manifest names for them: (folder, name)."""
    state, manifest = stored.state, stored.manifest
    _, model_arrays = state.model.to_arrays()
    arrays = {(manifest["model"]["folder"], name): array for name, array in model_arrays.items()}
    for live, data in zip(state.snapshot.segments, manifest["segments"], strict=True):
        arrays |= {(data["folder"], name): array for name, array in live.segment.arrays.items()}
        if live.alive is not None and data["alive"] is not None:
            arrays[data["folder"], data["alive"]["file"]] = live.alive
    if state.added.df is not None and manifest["drift"]["df"] is not None:
        arrays["", manifest["drift"]["df"]["file"]] = state.added.df
    words = manifest["drift"].get("words")
    dictionary = None if state.model.terms is None else getattr(state.model.terms.tokenizer, "dictionary", None)
    if words is not None and dictionary is not None:
        lines = dictionary.lines_after(state.model.n_terms)
        arrays["", words["file"]] = np.frombuffer(lines, np.uint8)[: words["shape"][0]]
    return arrays
