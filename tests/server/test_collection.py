"""A folder's name is the name of its collection; two of one name are refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import hi2
from hi2.server.collection import Collection, Collections, NoSuchCollection, name_of
from hi2.server.limits import Limits


def test_names():
    assert name_of(Path("x/wiki.hi2")) == "wiki"
    assert name_of(Path("x/wiki")) == "wiki"
    assert name_of(Path("x/my.wiki-2.hi2/")) == "my.wiki-2"
    with pytest.raises(hi2.InvalidParameter, match="INDEX"):
        name_of(Path("x/a b.hi2"))


def test_two_indexes_of_one_name_are_refused(index_path, tmp_path):
    other = tmp_path / "more" / "fruit"
    other.parent.mkdir()
    hi2.HybridIndex.open(index_path).save(other)
    with pytest.raises(hi2.InvalidParameter, match="different names"):
        Collections([index_path, other], limits=Limits())


def test_an_index_in_the_folder_that_is_given_too_is_served_once(index_path):
    collections = Collections([index_path], limits=Limits(), folder=index_path.parent)
    assert [own.name for own in collections] == ["fruit"]
    with pytest.raises(NoSuchCollection):
        collections.get("nope")


def test_an_index_whose_encoder_is_not_here_takes_vectors(tmp_path, caplog):
    def text_lengths(texts):
        return [[float(len(text)), 1.0] for text in texts]

    hi2.HybridIndex.build(texts=["a", "bb"], encoder=text_lengths, path=tmp_path / "a.hi2").close()
    collection = Collection("a", tmp_path / "a.hi2", limits=Limits())
    assert "takes no text without a vector" in caplog.text
    assert collection.encoder_name() == "text_lengths"
    with pytest.raises(hi2.InvalidParameter, match="not on this server"):
        collection.check_takes_text()
    assert len(collection.searcher.search([1.0, 1.0], k=1)) == 1
    asyncio.run(collection.changes.close())
