"""A sentence-transformers model encodes, a trusted index loads it again, and no code or pickle of a model is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hi2
from hi2.encoders.encoder import EncoderIdentity
from hostile import hostile_model, name_encoder


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
def test_a_trusted_index_loads_its_sentence_transformers_model_again(tiny_model, corpus, tmp_path):
    encoder = hi2.SentenceTransformerEncoder(tiny_model)
    given = {"texts": corpus.texts[:40], "ids": corpus.ids[:40], "keep_text": True, "encoder": encoder}
    index = hi2.HybridIndex.build(**given, path=tmp_path / "a")
    index.close()
    with pytest.raises(hi2.InvalidParameter, match=r"SentenceTransformerEncoder\(.*trust_encoder=True"):
        hi2.HybridIndex.open(tmp_path / "a").search(corpus.texts[3])
    trusted = hi2.HybridIndex.open(tmp_path / "a", trust_encoder=True)
    for opened in (trusted.refit(hi2.Parts(index.model)), trusted):
        hits = opened.search(corpus.texts[3], k=1)
        assert hits.ids.tolist() == [corpus.ids[3]]
        np.testing.assert_allclose(hits.dense, 1, atol=1e-4)
    name_encoder(tmp_path / "a", *EncoderIdentity.of(encoder).label, probe=[0.1] * 32)
    with pytest.raises(hi2.InvalidParameter, match="other vectors"):
        hi2.HybridIndex.open(tmp_path / "a", trust_encoder=True).search(corpus.texts[3])
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


@pytest.mark.filterwarnings("ignore")
def test_a_model_with_code_beside_it_or_pickled_weights_is_refused(tiny_model, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    model = hostile_model(tmp_path / "model", marker)
    monkeypatch.chdir(model)
    monkeypatch.syspath_prepend(str(model))
    with pytest.raises(hi2.InvalidParameter, match=r"modules.json names 'beside.Evil'.*pass it as a callable"):
        hi2.SentenceTransformerEncoder(model)
    shutil.copytree(tiny_model, tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").unlink()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes((model / "pytorch_model.bin").read_bytes())
    with pytest.raises(hi2.InvalidParameter, match=r"pytorch_model.bin is a pickle, with no model.safetensors"):
        hi2.SentenceTransformerEncoder(tmp_path / "pickled")
    assert not marker.exists()


@pytest.mark.filterwarnings("ignore")
def test_pickled_weights_beside_safetensors_are_not_read(tiny_model, tmp_path):
    shutil.copytree(tiny_model, tmp_path / "both")
    pickled = hostile_model(tmp_path / "model", tmp_path / "marker") / "pytorch_model.bin"
    shutil.copy(pickled, tmp_path / "both")
    texts = ["one text"]
    expected = hi2.SentenceTransformerEncoder(tiny_model)(texts)
    np.testing.assert_array_equal(hi2.SentenceTransformerEncoder(tmp_path / "both")(texts), expected)
    assert not (tmp_path / "marker").exists()


def test_a_model_of_the_hub_is_checked_too(tiny_model, tmp_path):
    """Both models lie in the hub's cache, where a download would leave them."""
    marker = tmp_path / "marker"
    hostile_model(tmp_path / "model", marker)
    for name, folder in (("good", tiny_model), ("evil", tmp_path / "model")):
        cached = tmp_path / "hub" / f"models--someone--{name}"
        shutil.copytree(folder, cached / "snapshots" / ("0" * 40))
        (cached / "refs").mkdir()
        (cached / "refs" / "main").write_text("0" * 40)
    script = """
import sys, hi2
encoder = hi2.SentenceTransformerEncoder("someone/good")
print(encoder.source, encoder(["a text"]).shape)
try:
    hi2.SentenceTransformerEncoder("someone/evil")
except hi2.InvalidParameter as error:
    print(error)
"""
    source = str(Path(hi2.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    good, evil = done.stdout.splitlines()
    assert good == "someone/good (1, 32)"
    assert "names 'beside.Evil'" in evil
    assert not marker.exists()
