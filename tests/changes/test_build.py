"""A build uses the parts that it is given, reads its files once and shows its progress when asked."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.store import reader as opening
from hi2.store.arrays import OpenArray


def test_a_build_on_disk_is_read_once(corpus, tmp_path, monkeypatch):
    opened = []

    class Noting(OpenArray):
        def __init__(self, folder, name, entry):
            opened.append(folder.path / name)
            super().__init__(folder, name, entry)

    monkeypatch.setattr(opening, "OpenArray", Noting)
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
    assert second.model.terms.df is model.terms.df
    assert second.model.terms.evidence is model.terms.evidence
    assert second.model.terms.tokenizer.dictionary is not model.terms.tokenizer.dictionary  # it grows on its own
    assert second.model.codec is model.codec


def test_progress_is_shown_only_when_asked_for(corpus, capfd):
    hi2.HybridIndex.build(corpus.vectors, corpus.texts, progress=True)
    shown = capfd.readouterr().err
    for phase in ("read texts", "fit clusters", "assign clusters", "file documents"):
        assert phase in shown
    hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    assert capfd.readouterr().err == ""


def test_bad_arguments_are_refused_before_documents_are_read(corpus, tmp_path):
    def texts():
        pytest.fail("the texts were read")
        yield ""

    (tmp_path / "there").mkdir()
    for said, bad in [
        ("'metric'", {"metric": "euclidean"}),
        ("no lists are left", {"clusters": None, "terms": None}),
        ("does not exist yet", {"path": tmp_path / "there"}),
        ("'threads'", {"threads": 0}),
    ]:
        with pytest.raises(hi2.InvalidParameter, match=said):
            hi2.HybridIndex.build(corpus.vectors[:5], texts(), **bad)


def test_an_encoder_must_make_vectors_of_the_dimension_of_those_given(corpus):
    with pytest.raises(hi2.InvalidParameter, match="dimension 40"):
        hi2.HybridIndex.build(corpus.vectors[:5], corpus.texts[:5], encoder=hi2.StaticEncoder())


def test_term_weights_replace_counts():
    rows = [{"river": 2.0, "boat": 0.5}, {"boat": 3.0}]
    index = hi2.HybridIndex.build(np.eye(2), term_weights=rows, clusters=None)
    assert isinstance(index.model.terms.spec, hi2.TermWeights)
    assert index.search(np.eye(2)[0], "river", clusters=0).ids.tolist() == [0]


def test_a_build_in_memory_and_on_disk_give_the_same_index(corpus, tmp_path):
    given = {"ids": corpus.ids[:50], "keep_text": True}
    memory = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], **given)
    with hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], path=tmp_path / "a", **given) as disk:
        assert disk.model.fingerprint == memory.model.fingerprint
        ours, theirs = (index._index.state.snapshot.segments[0].segment.arrays for index in (memory, disk))
        assert set(ours) == set(theirs)
        for name, array in ours.items():
            np.testing.assert_array_equal(theirs[name], array)
