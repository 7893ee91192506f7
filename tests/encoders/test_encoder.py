"""With an encoder, text alone builds and searches; a different encoder is refused."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.encoders.encoder import PROBE, EncoderIdentity, encode
from hostile import hashed


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
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder'.*shape \(1,\)"):
        hi2.HybridIndex.build(texts=["a"], encoder=lambda texts: np.zeros(1))
    with pytest.raises(hi2.InvalidParameter, match=r"'encoder'.*dimension 40"):
        hi2.HybridIndex.build(corpus.vectors, corpus.texts, encoder=static)
    assert len(hi2.HybridIndex.build(texts=iter([]), encoder=static)) == 0  # that is an empty index
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, bags=False)
    with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*no encoder"):
        index.search("text alone")
    with pytest.raises(hi2.InvalidParameter, match=r"'vectors'.*texts are given too"):
        index.search("text", "text")


@pytest.mark.parametrize(
    ("encoder", "match"),
    [
        (3, "a callable"),
        (hi2.StaticEncoder, "a callable"),  # the class, not an encoder
        (lambda texts: [[1.0], [1.0, 2.0]], "an array of numbers"),
        (lambda texts: np.zeros((1, 4)), r"shape \(2, dim\) for 2 texts.*\(1, 4\)"),
        (lambda texts: np.array([["a"], ["b"]]), "of <U1"),
        (lambda texts: np.full((2, 4), np.nan), "finite numbers"),
        (lambda texts: np.zeros((2, 5)), "dimension 4.*dimension 5"),
    ],
)
def test_what_an_encoder_returns_is_checked(encoder, match):
    with pytest.raises(hi2.InvalidParameter, match=match):
        encode(encoder, ["one", "two"], dim=4)


def test_vectors_of_an_encoder_become_float32():
    vectors = encode(lambda texts: [[len(text), 1] for text in texts], ("a", "bcd"))
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[1, 1], [3, 1]]


def test_an_identity_says_its_name_and_where_it_was_loaded_from(static):
    assert str(EncoderIdentity.of(hashed)) == "hashed"
    assert str(EncoderIdentity("Mine", "a/folder", (1.0, 2.0))) == "Mine('a/folder'), 2 dimensions"
    with pytest.raises(hi2.InvalidParameter, match="other than zero"):
        EncoderIdentity.of(lambda texts: np.zeros((len(texts), 4)))
    with pytest.raises(hi2.InvalidParameter, match="dimension 9"):
        EncoderIdentity.check_dim(static, 9)


def test_the_length_of_vectors_is_part_of_the_identity():
    identity = EncoderIdentity.of(hashed)
    with pytest.raises(hi2.InvalidParameter, match="other vectors"):
        identity.check(lambda texts: 1.1 * hashed(texts))


def test_a_label_is_a_name_and_a_source_and_is_shown_without_control_characters(static):
    assert EncoderIdentity.of(hashed).label == ("hashed", None)
    assert EncoderIdentity("Mine", "a/folder", (1.0,)).label == ("Mine", "a/folder")
    shown = str(EncoderIdentity("Mine\x1b[2J", "a\nb", (1.0,)))
    assert shown.isprintable()


def test_an_encoder_matches_by_its_vector_of_the_probe(static):
    identity = EncoderIdentity.of(static)
    assert identity.matches(static)
    assert not identity.matches(hashed)
    assert not EncoderIdentity(*identity.label, (float("nan"),) * 256).matches(static)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ["x"]}, "not a string"),
        ({"source": {}}, "not a string"),
        ({"probe": []}, "is zero"),
        ({"probe": [0, 0.0]}, "is zero"),
        ({"probe": ["1", "2"]}, "finite numbers"),
        ({"probe": [True, 1.0]}, "finite numbers"),
        ({"probe": [float("nan")]}, "finite numbers"),
        ({"probe": [1e308]}, "finite numbers"),
        ({"probe": "12"}, "finite numbers"),
    ],
)
def test_an_identity_that_no_encoder_has_is_refused(change, said):
    whole = {"name": "x", "source": None, "probe": [1.0, 2]}
    assert EncoderIdentity.from_json(whole).probe == (1.0, 2.0)
    with pytest.raises(hi2.FormatError, match=said):
        EncoderIdentity.from_json(whole | change)
