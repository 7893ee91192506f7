"""Indexes of every readable format version still open, verify and answer queries."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hi2
from compat.make_index import answers, queries
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
    assert answers(index) == json.loads((DATA / f"{folder.name}.expected.json").read_text())
    assert index.get("doc-1")["payload"] == {"n": 1}


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda path: path.name)
def test_an_old_index_can_be_changed(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        index.add(np.ones((1, 8)), ["red stone unheardof"], ids=["new"])
        index.delete("doc-1")
        expected = answers(index)
        index.commit()
        index.merge()
        index.commit()
        index.verify()
        assert answers(index)["ids"] == expected["ids"]
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert answers(again)["ids"] == expected["ids"]
    assert again.search(np.ones(8), "stone", k=1, clusters=1).ids.tolist() == ["new"]
    assert json.loads((tmp_path / "a" / "manifest.json").read_text())["version"] == manifest.FORMAT_VERSION


@pytest.mark.parametrize("folder", VERSIONS[:2], ids=lambda path: path.name)
def test_an_index_of_before_bags_ranks_by_vectors_and_says_how_to_rank_by_words(folder):
    index = hi2.HybridIndex.open(folder)
    vectors, texts = queries()
    hits = index.search(vectors, texts, k=8)
    assert hits.lexical is None
    assert hits.scores.tolist() == index.search(vectors, texts, k=8, lexical=0).scores.tolist()
    for search in (
        lambda: index.search(vectors, texts, lexical=0.2),
        lambda: index.search(None, "red bird"),
        lambda: index.search(vectors[0], "+red bird", syntax=True),
    ):
        with pytest.raises(hi2.InvalidParameter, match=r"bags.*refit\(\) with texts"):
            search()


@pytest.mark.parametrize("folder", VERSIONS[:2], ids=lambda path: path.name)
def test_an_index_of_before_bags_ranks_by_words_after_a_refit(folder):
    index = hi2.HybridIndex.open(folder)
    again = index.refit(texts=index.texts())
    again.verify()
    assert again.search(None, "red bird", k=1).lexical[0] > 0
    assert again.ids() == index.ids()


def test_words_added_to_an_index_of_version_3_are_found_and_kept(tmp_path):
    shutil.copytree(DATA / "v3", tmp_path / "a")
    with hi2.HybridIndex.open(tmp_path / "a", "w") as index:
        assert index.search(None, "rare70x3", k=1).ids.tolist() == ["doc-70"]  # a word that was added before
        index.add(np.ones((1, 8)), ["red stone unheardof"], ids=["new"])
        index.commit()
        words = (tmp_path / "a" / "words-000003.txt").read_text()
        assert words == (tmp_path / "a" / "words-000002.txt").read_text() + "unheardof\n"
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    assert again.search(None, "unheardof", k=1).ids.tolist() == ["new"]
    assert again.search(None, "rare70x3", k=1).ids.tolist() == ["doc-70"]


@pytest.mark.parametrize(("version", "way_out"), [(0, "Rebuild"), (99, "Install a newer hi2")])
def test_an_unreadable_version_is_rejected_with_what_to_do(version, way_out, tmp_path):
    shutil.copytree(VERSIONS[-1], tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    content = json.loads(path.read_text())
    path.write_bytes(manifest.serialise({**content, "version": version}))
    with pytest.raises(hi2.UnsupportedVersion, match=way_out):
        hi2.HybridIndex.open(tmp_path / "a")
