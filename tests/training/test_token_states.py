"""States of documents are computed once, stored, and resumed after an interruption."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")

import hi2  # noqa: E402
from hi2.progress import Progress  # noqa: E402
from hi2.text.tokenizer import Tokenizer  # noqa: E402
from hi2.training.token_states import Backbone, cache_states  # noqa: E402

SIZES = {"max_tokens": 16, "layers": None, "trainable": 0}


def test_states_are_stored_and_an_interrupted_computation_resumes(topics, tiny_bert, tmp_path, monkeypatch):
    backbone = Backbone.load(tiny_bert, Tokenizer.load(None), max_tokens=16, layers=1, trainable=0)
    assert len(backbone.model.encoder.layer) == 1
    whole = cache_states(tmp_path / "whole", topics.texts, backbone, Progress(False))
    lower, calls = Backbone.lower, []

    def interrupted(self, ids, mask):
        calls.append(len(ids))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return lower(self, ids, mask)

    monkeypatch.setattr(Backbone, "lower", interrupted)
    monkeypatch.setattr("hi2.training.token_states._BATCHES_PER_MARK", 1)
    with pytest.raises(KeyboardInterrupt):
        cache_states(tmp_path / "cut", topics.texts, backbone, Progress(False))
    resumed = cache_states(tmp_path / "cut", topics.texts, backbone, Progress(False))
    assert len(calls) == 3 + 5 - 2  # two of five batches were stored
    assert np.array_equal(resumed.values, whole.values)
    again = cache_states(tmp_path / "cut", topics.texts, backbone, Progress(False))
    assert len(calls) == 6
    assert np.array_equal(again.values, whole.values)


def test_a_full_disk_is_an_error_before_anything_is_computed(topics, tiny_bert, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    backbone = Backbone.load(tiny_bert, Tokenizer.load(None), **SIZES)
    with pytest.raises(hi2.Error, match="No space left"):
        cache_states(tmp_path, topics.texts, backbone, Progress(False))
    assert not list(tmp_path.glob("*.npy"))


def test_a_model_of_another_vocabulary_is_refused(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "river"]))
    config = transformers.BertConfig(vocab_size=6, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    transformers.BertModel(config).save_pretrained(tmp_path)
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    with pytest.raises(hi2.InvalidParameter, match="vocabulary of the index's tokenizer"):
        Backbone.load(str(tmp_path), Tokenizer.load(None), **SIZES)
    with pytest.raises(hi2.InvalidParameter, match="a local path always works"):
        Backbone.load(str(tmp_path / "nothing"), Tokenizer.load(None), **SIZES)


def test_a_model_whose_settings_name_code_is_refused(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "attn_implementation": "someone/kernel"}))
    with pytest.raises(hi2.InvalidParameter, match="names the code 'someone/kernel'"):
        Backbone.load(str(tmp_path / "bert"), Tokenizer.load(None), **SIZES)


def test_too_many_layers_are_refused(tiny_bert):
    for wrong in ({"layers": 3, "trainable": 0}, {"layers": None, "trainable": 3}):
        with pytest.raises(hi2.InvalidParameter, match="layers"):
            Backbone.load(tiny_bert, Tokenizer.load(None), max_tokens=16, **wrong)
