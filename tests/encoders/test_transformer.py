"""A transformers model encodes with the pooling, the prefix and the length it was trained with."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

import hi2
from hi2.encoders.transformer import TransformerEncoder
from hostile import hostile_model


@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
def test_pooling_is_the_one_named(tiny, pooling):
    encoder = TransformerEncoder(tiny.folder / "bert", pooling=pooling, max_length=20, batch_size=2)
    output, mask = tiny.states("bert", 20)
    hidden = output.last_hidden_state.numpy()
    expected = {
        "cls": hidden[:, 0],
        "mean": (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True),
        "pooler": output.pooler_output.numpy(),
    }[pooling]
    np.testing.assert_allclose(encoder(tiny.texts), expected, atol=1e-5)
    assert encoder([]).shape == (0, 16)


def test_prefix_maximum_length_and_norm_are_applied(tiny):
    plain = TransformerEncoder(tiny.folder / "bert", max_length=8)
    prefixed = TransformerEncoder(tiny.folder / "bert", max_length=8, prefix="query : ", normalise=True)
    vectors = prefixed(["river"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    expected = plain(["query : river"])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected), atol=1e-6)
    np.testing.assert_allclose(plain([tiny.texts[2]]), plain([tiny.texts[2] * 2]), atol=1e-6)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[transformers\]"):
        TransformerEncoder("anything")


def test_a_folder_without_a_model_is_refused(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    with pytest.raises(hi2.InvalidParameter, match="the folder of a transformers model"):
        TransformerEncoder(tmp_path)


def test_the_vector_of_a_text_does_not_depend_on_its_batch(tiny):
    one_by_one = TransformerEncoder(tiny.folder / "bert", pooling="mean", batch_size=1)
    together = TransformerEncoder(tiny.folder / "bert", pooling="mean", batch_size=3)
    np.testing.assert_allclose(one_by_one(tiny.texts), together(tiny.texts), atol=1e-5)


def test_pickled_weights_and_code_of_a_model_are_not_run(tiny, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    evil = hostile_model(tmp_path / "evil", marker, modules=False)
    shutil.copytree(tiny.folder / "bert", tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").unlink()
    shutil.copy(evil / "pytorch_model.bin", tmp_path / "pickled")
    monkeypatch.chdir(evil)
    for folder in (evil, tmp_path / "pickled"):
        with pytest.raises(hi2.InvalidParameter, match="with weights as safetensors"):
            TransformerEncoder(folder)
    assert not marker.exists()


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_settings_cannot_name_code_for_attention(tiny, tmp_path, key):
    shutil.copytree(tiny.folder / "bert", tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, key: "eager"}))
    assert TransformerEncoder(tmp_path / "bert")(["a river"]).shape == (1, 16)
    for value in ("someone/kernel", {"": "someone/kernel"}):
        path.write_text(json.dumps({**settings, key: value}))
        with pytest.raises(hi2.InvalidParameter, match=r"names the code .*someone/kernel.* for attention"):
            TransformerEncoder(tmp_path / "bert")


def test_weights_that_are_only_pickled_are_refused_even_if_they_are_harmless(tiny, tmp_path):
    import torch

    shutil.copytree(tiny.folder / "bert", tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").unlink()
    torch.save(tiny.models["bert"].state_dict(), tmp_path / "pickled" / "pytorch_model.bin")
    with pytest.raises(hi2.InvalidParameter, match="with weights as safetensors"):
        TransformerEncoder(tmp_path / "pickled")
