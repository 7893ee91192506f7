"""A sentence-transformers model encodes, and an index loads it again from where it was."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import hi2


def test_a_missing_extra_is_named(monkeypatch):
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


@pytest.mark.filterwarnings("ignore")
def test_vectors_have_unit_length_unless_lengths_are_kept(tiny_model):
    texts = ["one text", "another text of more words"]
    normal, plain = (hi2.SentenceTransformerEncoder(tiny_model, normalise=one)(texts) for one in (True, False))
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    assert not np.allclose(lengths, 1, atol=1e-2)
    np.testing.assert_allclose(normal, plain / lengths, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_folder_is_remembered_by_its_absolute_path(tiny_model, monkeypatch):
    monkeypatch.chdir(tiny_model.parent)
    assert hi2.SentenceTransformerEncoder(tiny_model.name).source == str(tiny_model.resolve())
