"""With an encoder, text alone builds and searches; a different encoder is refused."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.encoders.encoder import PROBE, EncoderIdentity


@pytest.fixture(scope="module")
def static():
    return hi2.StaticEncoder()


def hashed(texts):
    """An encoder that is a plain function: counts of hashed words."""
    rows = np.zeros((len(texts), 32))
    for i, text in enumerate(texts):
        for word in text.split():
            rows[i, sum(map(ord, word)) % 32] += 1
    return rows


def test_vectors_are_sums_of_token_vectors_at_unit_length(static):
    text = "The quick brown fox jumps over lazy dogs"
    tokens, _ = static.tokenizer.encode([text])
    table = static._vectors.astype(np.float64) * static._scales[:, None]
    expected = table[tokens].sum(0)
    np.testing.assert_allclose(static([text])[0], expected / np.linalg.norm(expected), atol=1e-5)
    assert static.dim == 256
    assert static._vectors.dtype == np.int8


def test_the_vector_of_a_text_does_not_depend_on_its_batch(static, corpus):
    together = static(corpus.texts[:300])
    alone = np.concatenate([static([text]) for text in corpus.texts[:20]])
    assert (together[:20] == alone).all()
    assert (together == hi2.StaticEncoder(threads=3)(corpus.texts[:300])).all()


def test_texts_without_tokens_have_the_zero_vector(static):
    assert not static(["", "\x00", "[CLS]"]).any()
    assert static([]).shape == (0, 256)


def test_similar_texts_have_similar_vectors(static):
    a, b, c = static(["a cat sat on the mat", "the kitten is lying on a rug", "quarterly tax returns of companies"])
    assert a @ b > a @ c


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


def test_tokenizing_once_gives_the_same_index(static, corpus):
    once = hi2.HybridIndex.build(texts=corpus.texts, encoder=static)
    apart = hi2.HybridIndex.build(static(corpus.texts), corpus.texts)
    for name, array in once._index.state.snapshot.segments[0].segment.arrays.items():
        np.testing.assert_array_equal(array, apart._index.state.snapshot.segments[0].segment.arrays[name])


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


def test_a_missing_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[sentence-transformers\]"):
        hi2.SentenceTransformerEncoder("anything")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """The folder of a BERT with one small layer, loaded as any other model."""
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("tiny")
    config = BertConfig(
        vocab_size=30522, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    BertModel(config).save_pretrained(folder / "bert")
    definition = hi2.StaticEncoder().tokenizer.definition
    (folder / "tokenizer.json").write_text(definition, encoding="utf-8")
    BertTokenizerFast(tokenizer_file=str(folder / "tokenizer.json")).save_pretrained(folder / "bert")
    return folder / "bert"  # sentence-transformers adds mean pooling


@pytest.mark.filterwarnings("ignore")
def test_an_index_loads_its_sentence_transformers_model_again(tiny_model, corpus, tmp_path):
    encoder = hi2.SentenceTransformerEncoder(tiny_model)
    index = hi2.HybridIndex.build(texts=corpus.texts[:40], ids=corpus.ids[:40], encoder=encoder, path=tmp_path / "a")
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    hits = opened.search(corpus.texts[3], k=1)
    assert hits.ids.tolist() == [corpus.ids[3]]
    np.testing.assert_allclose(hits.scores, 1, atol=1e-4)
    with pytest.raises(hi2.InvalidParameter, match=r"'source'.*no/such/model"):
        hi2.SentenceTransformerEncoder("no/such/model")
