"""A manifest names the files of its own folder: all of them, and none outside."""

from __future__ import annotations

import dataclasses

import pytest

import hi2
from hi2.errors import FormatError
from hi2.store.arrays import PACK, FileEntry
from hi2.store.folder import Folder
from hi2.store.lock import LOCK_FILE
from hi2.store.manifest import MANIFEST, PREVIOUS, read_manifest
from hi2.store.named_files import model_checksum, named_files, plain_name, well_formed


@pytest.mark.parametrize("name", ["", ".", "..", "../a.npy", "a/b.npy", "/etc/passwd", "a/", "a\0", 3, None])
def test_a_name_outside_the_folder_is_refused(tmp_path, name):
    folder = Folder.open(tmp_path)
    assert plain_name(folder, "a.npy") == "a.npy"
    with pytest.raises(FormatError, match="outside the index"):
        plain_name(folder, name)


def test_a_manifest_names_every_file_of_the_index(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.delete(corpus.ids[3])
        index.add(corpus.vectors[60:61], corpus.texts[60:61], ids=["new"])
        index.commit()
    index.verify()
    folder = tmp_path / "a"
    held = Folder.open(folder)

    def named_by(manifest):
        files = named_files(held, read_manifest(held, manifest))
        return {folder / file.folder / (PACK if file.entry.at is not None else file.name): file.entry for file in files}

    named, before = named_by(MANIFEST), named_by(PREVIOUS)
    on_disk = {path for path in folder.rglob("*") if path.is_file()}
    assert on_disk - set(named) - set(before) == {folder / MANIFEST, folder / PREVIOUS, folder / LOCK_FILE}
    assert all(path.stat().st_size == entry.bytes for path, entry in named.items() if entry.at is None)
    packed = [entry for file in named_files(held, read_manifest(held)) if (entry := file.entry).at is not None]
    assert (folder / "segment-000002" / PACK).stat().st_size == max(entry.at + entry.bytes for entry in packed)
    assert {"alive", "drift"} <= {path.name.split("-")[0] for path in named}


@pytest.mark.parametrize("manifest", [{}, {"model": 3}, {"model": {"folder": "model", "files": {"a.npy": {}}}}])
def test_a_manifest_that_describes_no_index_is_a_format_error(tmp_path, manifest):
    with pytest.raises(FormatError, match="does not describe an index"):
        list(named_files(Folder.open(tmp_path), manifest))


def test_errors_that_are_not_of_the_content_pass_unchanged(tmp_path):
    with pytest.raises(ZeroDivisionError), well_formed(Folder.open(tmp_path)):
        _ = 1 // 0


def test_the_checksum_of_a_model_depends_on_its_description_and_its_files():
    entry = FileEntry("<f4", (2, 3), 24, "0" * 64)
    files = {"a.npy": entry, "b.npy": entry}
    checksum = model_checksum({"dim": 3}, files)
    assert checksum == model_checksum({"dim": 3}, dict(reversed(files.items())))
    assert checksum != model_checksum({"dim": 4}, files)
    assert checksum != model_checksum({"dim": 3}, {**files, "b.npy": dataclasses.replace(entry, sha256="1" * 64)})
