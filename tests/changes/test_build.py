"""A build uses the parts that it is given, reads its files once and shows its progress when asked."""

from __future__ import annotations

import hi2
from hi2.store import open as opening
from hi2.store.arrays import map_file


def test_a_build_on_disk_is_read_once(corpus, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(opening, "map_file", lambda path, *args, **kwargs: opened.append(path) or map_file(path, *args))
    with hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a"):
        read = [path for path in opened if path.is_relative_to(tmp_path / "a")]
        assert read
        assert len(read) == len(set(read))


def test_a_given_fitted_part_is_used_unchanged(corpus):
    first = hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200])
    model = first.model
    second = hi2.HybridIndex.build(
        corpus.vectors[200:], corpus.texts[200:], clusters=model.clusters, terms=model.terms, codec=model.codec
    )
    assert second.model.clusters is model.clusters
    assert second.model.terms is model.terms
    assert second.model.codec is model.codec


def test_progress_is_shown_only_when_asked_for(corpus, capfd):
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, progress=True)
    shown = capfd.readouterr().err
    for phase in ("read texts", "fit clusters", "assign clusters", "file documents"):
        assert phase in shown
    hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    assert capfd.readouterr().err == ""
