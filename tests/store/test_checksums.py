"""Every checksum is checked, also of files that a later commit has removed."""

from __future__ import annotations

import json

import pytest

import hi2
from hi2.errors import FormatError
from hi2.store.checksums import check_files
from hi2.store.folder import Folder
from hi2.store.manifest import MANIFEST, serialise
from hi2.store.named_files import named_files
from hi2.store.reader import read_index


@pytest.fixture
def folder(small, corpus, tmp_path):
    small.delete(corpus.ids[3])
    small.save(tmp_path / "a")
    return tmp_path / "a"


def test_one_changed_bit_of_any_file_is_found(folder):
    check_files(read_index(Folder.open(folder)))
    for file in named_files(Folder.open(folder), read_index(Folder.open(folder)).manifest):
        path = folder / file.folder / file.name
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(FormatError, match=path.name):
            check_files(read_index(Folder.open(folder)))
        path.write_bytes(data)
    check_files(read_index(Folder.open(folder)))


@pytest.mark.parametrize("name", ["n_docs", "n_alive", "fingerprint"])
def test_a_manifest_that_states_other_counts_is_refused(folder, name):
    manifest = json.loads((folder / MANIFEST).read_text())
    own = {"n_docs": manifest, "n_alive": manifest["segments"][0], "fingerprint": manifest["model"]}[name]
    own[name] = "0" * 64 if name == "fingerprint" else own[name] + 1
    (folder / MANIFEST).write_bytes(serialise(manifest))
    with pytest.raises(FormatError, match="where the files hold"):
        check_files(read_index(Folder.open(folder)))


def test_files_that_a_later_commit_removed_are_checked_as_they_are_mapped(folder, corpus):
    stored = read_index(Folder.open(folder))
    with hi2.HybridIndex.open(folder, "w") as index:
        for id in corpus.ids[10:13]:
            index.delete(id)
            index.merge()
            index.commit()
    named = [folder / file.folder / file.name for file in named_files(stored.folder, stored.manifest)]
    assert not all(path.exists() for path in named)
    check_files(stored)
