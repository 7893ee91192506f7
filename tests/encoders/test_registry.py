"""Named encoders load from tiny models on disk and give the vectors that their recipes describe."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.encoders.onnx import OnnxEncoder
from hi2.encoders.registry import ENCODERS, load_towers
from hi2.encoders.transformer import TransformerEncoder
from hi2.encoders.wordllama import WordLlamaEncoder

TEXTS = ["the river flows to the sea", "a train", "an unusually long sentence about rivers, trains and the sea " * 20]
WORDS = [
    "the",
    "river",
    "flows",
    "to",
    "sea",
    "a",
    "train",
    "an",
    "unusually",
    "long",
    "sentence",
    "about",
    "rivers",
    ",",
    "trains",
    "and",
    "query",
    ":",
    "passage",
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folders of tiny models: a plain BERT and the two towers of DPR."""
    pytest.importorskip("torch", reason="needs the extra 'transformers'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    import torch

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = transformers.BertTokenizerFast(str(vocabulary))
    size = {
        "vocab_size": 5 + len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    models = {
        "bert": transformers.BertModel(transformers.BertConfig(**size)),
        "documents": transformers.DPRContextEncoder(transformers.DPRConfig(**size)),
        "queries": transformers.DPRQuestionEncoder(transformers.DPRConfig(**size)),
    }
    for name, model in models.items():
        model.eval().save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder, models, tokenizer


def states(tiny, name, texts, max_length):
    import torch

    _, models, tokenizer = tiny
    tokens = tokenizer(texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
    with torch.inference_mode():
        return models[name](**tokens), tokens["attention_mask"].numpy()


def test_two_towers_need_two_paths(tiny):
    with pytest.raises(hi2.InvalidParameter, match="two paths"):
        load_towers(f"DPR={tiny[0] / 'documents'}")


@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
def test_pooling_is_the_one_named(tiny, pooling):
    encoder = TransformerEncoder(tiny[0] / "bert", pooling=pooling, max_length=20, batch_size=2)
    output, mask = states(tiny, "bert", TEXTS, 20)
    hidden = output.last_hidden_state.numpy()
    expected = {
        "cls": hidden[:, 0],
        "mean": (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True),
        "pooler": output.pooler_output.numpy(),
    }[pooling]
    np.testing.assert_allclose(encoder(TEXTS), expected, atol=1e-5)
    assert encoder([]).shape == (0, 16)


def test_prefix_maximum_length_and_norm_are_applied(tiny):
    plain = TransformerEncoder(tiny[0] / "bert", max_length=8)
    prefixed = TransformerEncoder(tiny[0] / "bert", max_length=8, prefix="query : ", normalise=True)
    vectors = prefixed(["river"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    expected = plain(["query : river"])
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected), atol=1e-6)
    np.testing.assert_allclose(plain([TEXTS[2]]), plain([TEXTS[2] * 2]), atol=1e-6)


def test_dpr_has_two_towers(tiny):
    towers = load_towers(f"DPR={tiny[0] / 'documents'},{tiny[0] / 'queries'}")
    for encoder, name in ((towers.documents, "documents"), (towers.queries, "queries")):
        output, _ = states(tiny, name, TEXTS, 256)
        np.testing.assert_allclose(encoder(TEXTS), output.pooler_output.numpy(), atol=1e-5)
    assert not np.allclose(towers.documents(TEXTS), towers.queries(TEXTS))


@pytest.mark.parametrize("name", ["coCondenser", "AR2", "RetroMAE"])
def test_a_single_tower_truncates_queries_more(tiny, name):
    towers = load_towers(f"{name}={tiny[0] / 'bert'}")
    recipe = ENCODERS[name]
    for encoder, length in ((towers.documents, recipe.max_length), (towers.queries, recipe.query_max_length)):
        output, _ = states(tiny, "bert", TEXTS, length)
        np.testing.assert_allclose(encoder(TEXTS), output.last_hidden_state[:, 0].numpy(), atol=1e-5)


@pytest.mark.parametrize("name", ["DPR", "RetroMAE", "coCondenser", "no/such-model"])
def test_without_a_hub_the_error_says_that_a_path_works(name, monkeypatch):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(hi2.InvalidParameter, match="the folder of a"):
        load_towers(name)


def test_an_encoder_without_weights_on_the_hub_asks_for_a_path():
    with pytest.raises(hi2.InvalidParameter, match="path of its weights"):
        load_towers("AR2")
    with pytest.raises(hi2.InvalidParameter, match="with or without a path"):
        load_towers("unheard=of")
    with pytest.raises(hi2.InvalidParameter, match="'pooling'"):
        TransformerEncoder("x", pooling="max")


def test_static_is_one_tower():
    towers = load_towers("static")
    assert towers.documents is towers.queries
    np.testing.assert_array_equal(towers.queries(["a"]), hi2.StaticEncoder()(["a"]))


def test_an_onnx_encoder_pools_the_states_of_its_model(tiny, tmp_path):
    """The model is a hand-written graph that looks up token vectors."""
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    from onnx import TensorProto, helper, numpy_helper

    table = np.random.default_rng(0).standard_normal((5 + len(WORDS), 8)).astype(np.float32)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", "t", 8])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    graph = helper.make_graph(nodes, "tiny", inputs, [output], [numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    tiny[2].backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = ["the river", "a train to the sea"]
    expected = np.stack([table[tiny[2](text)["input_ids"]].mean(0) for text in texts])
    np.testing.assert_allclose(OnnxEncoder(tmp_path, normalise=False)(texts), expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(load_towers(f"onnx={tmp_path}").queries(texts), axis=1), 1, atol=1e-5)
    cls = OnnxEncoder(tmp_path, pooling="cls", normalise=False)(texts)
    np.testing.assert_allclose(cls, table[[2, 2]], atol=1e-6)
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(hi2.InvalidParameter, match="that onnxruntime reads"):
        OnnxEncoder(tmp_path)
    with pytest.raises(hi2.InvalidParameter, match=r"\.onnx model"):
        OnnxEncoder(tmp_path / "nowhere")


def test_wordllama_loads_the_vectors_of_its_package():
    pytest.importorskip("safetensors", reason="needs the extra 'wordllama'")
    import importlib.util

    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("needs the extra 'wordllama'")
    encoder = WordLlamaEncoder()
    vectors = encoder(["a car on the road", "an automobile in the street", "prime numbers"])
    assert vectors.shape == (3, 256)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert not encoder([""]).any()


def test_the_output_with_vectors_is_chosen():
    """Models name and order their outputs freely; the width of some depends on the length of the text."""
    from pathlib import Path
    from types import SimpleNamespace

    from hi2.encoders.onnx import _vector_output

    def output(name, *shape):
        return SimpleNamespace(name=name, shape=list(shape))

    mask, states = output("output", "batch", "tokens"), output("422", "b", "t", 384)
    pooled, named = output("461", "b", 384), output("sentence_embedding", "b", "d")
    model = Path("m.onnx")
    assert _vector_output([mask, pooled, states], model) == "422"
    assert _vector_output([mask, pooled], model) == "461"
    assert _vector_output([states, named], model) == "sentence_embedding"
    with pytest.raises(hi2.InvalidParameter, match="fixed width"):
        _vector_output([mask], model)
