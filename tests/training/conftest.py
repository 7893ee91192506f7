"""Parts trained on the toy collection of ``topics.py``, and a small random BERT."""

from __future__ import annotations

from importlib import resources

import pytest


@pytest.fixture(scope="session")
def light_parts(topics):
    """Parts trained with the settings of ``teaching.LIGHT``."""
    pytest.importorskip("torch", reason="needs the extra 'train'")
    import teaching

    return teaching.train(topics)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """The folder of a small random BERT with the whole vocabulary."""
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")
    folder = tmp_path_factory.mktemp("bert")
    vocabulary = resources.files("hi2.text").joinpath("bert-base-uncased.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, initializer_range=0.2
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def float64():
    """Make float64 the default dtype of torch, which finite differences need."""
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
