"""An ONNX model encodes; its output with vectors is found, and token states are pooled."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hi2
import malformed_tokenizers as malformed
from hi2.encoders.onnx import OnnxEncoder, _bert_tokenizer, _vector_output
from hi2.encoders.registry import load_towers


def test_an_onnx_encoder_pools_the_states_of_its_model(tiny, tmp_path):
    """The model is a hand-written graph that looks up token vectors."""
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    from onnx import TensorProto, helper, numpy_helper

    table = np.random.default_rng(0).standard_normal((len(tiny.tokenizer), 8)).astype(np.float32)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", "t", 8])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    graph = helper.make_graph(nodes, "tiny", inputs, [output], [numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    tiny.tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = ["the river", "a train to the sea"]
    expected = np.stack([table[tiny.tokenizer(text)["input_ids"]].mean(0) for text in texts])
    np.testing.assert_allclose(OnnxEncoder(tmp_path, normalise=False)(texts), expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(load_towers(f"onnx={tmp_path}").queries(texts), axis=1), 1, atol=1e-5)
    cls = OnnxEncoder(tmp_path, pooling="cls", normalise=False)(texts)
    np.testing.assert_allclose(cls, table[[2, 2]], atol=1e-6)
    (tmp_path / "tokenizer.json").write_text(malformed.PANIC_WHEN_READ["an empty charsmap"])
    with pytest.raises(hi2.InvalidParameter, match="'source' parameter must be a tokenizer that works"):
        OnnxEncoder(tmp_path)
    (tmp_path / "tokenizer.json").write_text(malformed.FAIL_WHEN_USED["a charsmap of zeros"])
    with pytest.raises(hi2.InvalidParameter, match="'source' parameter must be a tokenizer that works"):
        OnnxEncoder(tmp_path)(texts)
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(hi2.InvalidParameter, match="that onnxruntime reads"):
        OnnxEncoder(tmp_path)
    with pytest.raises(hi2.InvalidParameter, match=r"\.onnx model"):
        OnnxEncoder(tmp_path / "nowhere")


def test_the_output_with_vectors_is_chosen():
    """Models name and order their outputs freely; the width of some depends on the length of the text."""

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


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[onnx\]"):
        OnnxEncoder("anything")
    with pytest.raises(hi2.InvalidParameter, match="'mean' or 'cls'"):
        OnnxEncoder("anything", pooling="pooler")


def test_without_a_tokenizer_of_its_own_a_model_gets_berts():
    tokens = _bert_tokenizer().encode("the river").tokens
    assert tokens == ["[CLS]", "the", "river", "[SEP]"]
