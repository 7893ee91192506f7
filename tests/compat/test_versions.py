"""Indexes of every readable format version still open, verify and answer queries."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hi2
from compat.make_index import answers
from hi2.store import manifest

DATA = Path(__file__).parent / "data"
VERSIONS = sorted(path for path in DATA.iterdir() if path.is_dir())


def test_there_is_an_index_of_every_readable_version():
    known = range(manifest.OLDEST_READABLE_VERSION, manifest.FORMAT_VERSION + 1)
    assert [path.name for path in VERSIONS] == [f"v{version}" for version in known]


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
def test_an_old_index_gives_the_same_answers(folder):
    index = hi2.HybridIndex.open(folder)
    index.verify()
    expected = json.loads((DATA / f"{folder.name}.expected.json").read_text())
    found = answers(index)
    assert found["ids"] == expected["ids"]
    assert found["n_scored"] == expected["n_scored"]
    assert found["scores"] == expected["scores"]
    assert index.get("doc-1")["payload"] == {"n": 1}


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
def test_an_old_index_can_be_changed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(np.ones((1, 8)), ["red stone"], ids=["new"])
        index.delete("doc-1")
        index.merge()
        index.commit()
        index.verify()
    assert "new" in hi2.HybridIndex.open(tmp_path / "a")


@pytest.mark.parametrize(("version", "way_out"), [(0, "Rebuild"), (99, "Install a newer hi2")])
def test_an_unreadable_version_is_rejected_with_what_to_do(version, way_out, tmp_path):
    shutil.copytree(VERSIONS[-1], tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    content = json.loads(path.read_text())
    path.write_bytes(manifest.serialise({**content, "version": version}))
    with pytest.raises(hi2.UnsupportedVersion, match=way_out):
        hi2.HybridIndex.open(tmp_path / "a")
