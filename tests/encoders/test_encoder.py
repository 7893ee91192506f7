"""With an encoder, text alone builds and searches; a different encoder is refused."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.encoders.encoder import PROBE, EncoderIdentity


def hashed(texts):
    """An encoder that is a plain function: counts of hashed words."""
    rows = np.zeros((len(texts), 32))
    for i, text in enumerate(texts):
        for word in text.split():
            rows[i, sum(map(ord, word)) % 32] += 1
    return rows


def test_text_alone_builds_and_searches(static, corpus, tmp_path):
    index = hi2.HybridIndex.build(texts=corpus.texts, ids=corpus.ids, encoder=static, path=tmp_path / "a")
    single = index.search("open a zip archive", k=5)
    batch = index.search(["open a zip archive", "sort a list"], k=5)
    given = index.search(static(["open a zip archive"])[0], "open a zip archive", k=5)
    assert single.ids.tolist() == batch[0].ids.tolist() == given.ids.tolist()
    assert any("zip" in id for id in single.ids)
    index.add(texts=["a zebra crossing the savannah"], ids=["zebra"])
    assert index.search("zebra in the savannah", k=1).ids.tolist() == ["zebra"]
    assert index.explain("zebra in the savannah", id="zebra").outcome == "found"
    index.commit()
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    assert opened.search("zebra in the savannah", k=1).ids.tolist() == ["zebra"]


def test_any_callable_is_an_encoder_and_a_different_one_is_refused(corpus, tmp_path):
    index = hi2.HybridIndex.build(texts=corpus.texts, ids=corpus.ids, encoder=hashed, path=tmp_path / "a")
    assert len(index.search("open a file", k=3)) == 3
    index.close()
    bare = hi2.HybridIndex.open(tmp_path / "a")
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder' parameter of open must be given.*hashed"):
        bare.search("open a file")
    assert len(bare.search(hashed(["open a file"])[0], "open a file", k=3)) == 3  # vectors need no encoder
    again = hi2.HybridIndex.open(tmp_path / "a", encoder=hashed)
    assert len(again.search("open a file", k=3)) == 3
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder'.*built with.*hashed"):
        hi2.HybridIndex.open(tmp_path / "a", encoder=hi2.StaticEncoder())
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder'.*other vectors"):
        hi2.HybridIndex.open(tmp_path / "a", encoder=lambda texts: hashed(texts)[:, ::-1])


def test_small_numerical_differences_are_accepted():
    identity = EncoderIdentity.of(hashed)
    identity.check(lambda texts: hashed(texts).astype(np.float16) + 1e-4)
    assert EncoderIdentity.from_json(identity.to_json()) == identity
    assert len(identity.probe) == hashed([PROBE]).shape[1]


def test_bad_arguments_are_refused(corpus, static):
    with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*encoder"):
        hi2.HybridIndex.build(texts=corpus.texts)
    with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*encoder"):
        hi2.HybridIndex.build(encoder=static)
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder'.*shape \(1,\)"):
        hi2.HybridIndex.build(texts=["a"], encoder=lambda texts: np.zeros(1))
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder'.*dimension 40"):
        hi2.HybridIndex.build(corpus.vectors, corpus.texts, encoder=static)
    with pytest.raises(hi2.InvalidParameter, match=r"'texts'.*at least one"):
        hi2.HybridIndex.build(texts=[], encoder=static)
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts)
    with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*no encoder"):
        index.search("text alone")
    with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*texts are given too"):
        index.search("text", "text")
