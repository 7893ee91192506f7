"""A reader and a closed writer can be searched but not changed."""

from __future__ import annotations

import pytest

import hi2


def test_a_closed_writer_rejects_changes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    closed = hi2.HybridIndex.open(tmp_path / "a", "w")
    closed.close()
    with hi2.HybridIndex.open(tmp_path / "a", "w") as writer:
        writer.delete(corpus.ids[0])
        writer.commit()
        for change in (lambda: closed.delete(corpus.ids[1]), closed.commit, closed.merge):
            with pytest.raises(hi2.Error, match="closed"):
                change()
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 59
    assert len(closed.search(corpus.vectors[0], k=3)) == 3  # a closed index can still be searched


def test_a_reader_rejects_changes(small, corpus, tmp_path):
    small.save(tmp_path / "a")
    reader = hi2.HybridIndex.open(tmp_path / "a")
    for change in (
        lambda: reader.delete(corpus.ids[0]),
        lambda: reader.add(corpus.vectors[:1], corpus.texts[:1], ids=["x"]),
        lambda: reader.upsert(corpus.vectors[:1], corpus.texts[:1], ids=["x"]),
        reader.merge,
        reader.commit,
    ):
        with pytest.raises(hi2.ReadOnly, match="mode='w'"):
            change()
