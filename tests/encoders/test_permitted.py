"""An index uses an encoder that was given, registered, built in or trusted, and no other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hi2
from hi2.encoders import permitted_encoder, register_encoder, registered_encoders, unregister_encoders
from hi2.encoders.encoder import EncoderIdentity
from hi2.encoders.permitted import EncoderNeeded, check_trust
from hi2.encoders.wordllama import WordLlamaEncoder
from hostile import hashed, name_encoder


@pytest.fixture(autouse=True)
def _none_registered():
    unregister_encoders()
    yield
    unregister_encoders()


@pytest.fixture
def path(corpus, tmp_path):
    """Return an index that was built with ``hashed``."""
    hi2.HybridIndex.build(texts=corpus.texts[:40], encoder=hashed, keep_text=True, path=tmp_path / "a").close()
    return tmp_path / "a"


def test_an_encoder_that_is_not_given_must_be_given_or_registered(path):
    index = hi2.HybridIndex.open(path)
    with pytest.raises(
        hi2.InvalidParameter, match=r"built with hashed, which hi2 cannot load.*register_encoder"
    ) as got:
        index.search("open a file")
    assert "trust_encoder" not in str(got.value)  # it would not help
    assert str(pickle.loads(pickle.dumps(got.value))) == str(got.value)
    with pytest.raises(EncoderNeeded):
        permitted_encoder(EncoderIdentity.of(hashed), trust=True)
    assert len(index.search(hashed(["open a file"])[0], "open a file", k=3)) == 3
    hi2.register_encoder(hashed)
    assert registered_encoders() == {("hashed", None): hashed}
    registered = index.search("open a file", k=3)
    given = hi2.HybridIndex.open(path, encoder=hashed).search("open a file", k=3)
    assert registered.ids.tolist() == given.ids.tolist()
    with hi2.HybridIndex.open(path, "w") as writer:
        writer.add(texts=["a zebra"])
        assert writer.get(40)["text"] == "a zebra"


def test_a_registered_encoder_that_gives_other_vectors_is_refused(path):
    def other(texts):
        return hashed(texts)[:, ::-1]

    other.__name__ = "hashed"
    register_encoder(other)
    with pytest.raises(hi2.InvalidParameter, match="other vectors"):
        hi2.HybridIndex.open(path).search("open a file")
    register_encoder(hashed)  # the label is taken over
    assert len(hi2.HybridIndex.open(path).search("open a file", k=3)) == 3


def test_a_source_is_part_of_the_label(path):
    register_encoder(hashed)
    name_encoder(path, "hashed", "elsewhere")
    with pytest.raises(EncoderNeeded, match=r"hashed\('elsewhere'\)"):
        hi2.HybridIndex.open(path).search("open a file")
    source_of = type("hashed", (), {"source": "elsewhere", "__call__": lambda self, texts: hashed(texts)})
    register_encoder(source_of())
    assert len(hi2.HybridIndex.open(path).search("open a file", k=3)) == 3


def test_what_is_registered_must_be_an_encoder():
    for wrong in (3, hi2.StaticEncoder, lambda texts: np.zeros((len(texts), 4))):
        with pytest.raises(hi2.InvalidParameter, match="'encoder'"):
            register_encoder(wrong)
    assert registered_encoders() == {}


def test_built_in_encoders_need_no_permission(static):
    loaded = permitted_encoder(EncoderIdentity.of(static), trust=False)
    np.testing.assert_array_equal(loaded(["a text"]), static(["a text"]))
    with pytest.raises(hi2.InvalidParameter, match="other vectors"):
        permitted_encoder(EncoderIdentity("StaticEncoder", None, (1.0,) * 256), trust=False)
    with pytest.raises(EncoderNeeded):  # the built-in encoder has no source
        permitted_encoder(EncoderIdentity("StaticEncoder", "elsewhere", (1.0,) * 256), trust=True)


def test_wordllama_is_built_in(corpus, tmp_path):
    try:
        encoder = WordLlamaEncoder()
    except hi2.MissingExtra:
        pytest.skip("needs the extra 'wordllama'")
    hi2.HybridIndex.build(texts=corpus.texts[:20], encoder=encoder, path=tmp_path / "a").close()
    assert hi2.HybridIndex.open(tmp_path / "a").search(corpus.texts[3], k=1).ids.tolist() == [3]


@pytest.mark.parametrize("name", ["TransformerEncoder", "OnnxEncoder", "SentenceTransformerEncoder", "Mine"])
def test_an_encoder_whose_options_or_source_are_unknown_is_not_loaded_even_if_trusted(name):
    source = None if name == "SentenceTransformerEncoder" else "a/folder"
    with pytest.raises(EncoderNeeded, match=f"{name}.*cannot load by itself"):
        permitted_encoder(EncoderIdentity(name, source, (1.0, 2.0)), trust=True)


@pytest.mark.parametrize("value", ["no", 1, None, np.True_])
def test_trust_is_true_or_false(path, value):
    assert check_trust(True)
    with pytest.raises(hi2.InvalidParameter, match="'trust_encoder'"):
        hi2.HybridIndex.open(path, trust_encoder=value)


def test_an_encoder_that_was_given_stays_with_the_index(corpus, tmp_path):
    built = hi2.HybridIndex.build(texts=corpus.texts[:40], encoder=hashed, keep_text=True, path=tmp_path / "a")
    assert built.encoder is hashed
    built.close()
    parts = hi2.Parts(built.model)
    for opened in (
        hi2.HybridIndex.open(tmp_path / "a", encoder=hashed),
        hi2.HybridIndex.open(tmp_path / "a", encoder=hashed, trust_encoder=True),
    ):
        refitted = opened.refit(parts)
        assert refitted.encoder is hashed
        opened.save(tmp_path / f"copy {id(opened)}")
        assert opened.encoder is hashed
    with pytest.raises(EncoderNeeded):
        hi2.HybridIndex.open(tmp_path / "a").refit(parts).search("open a file")
