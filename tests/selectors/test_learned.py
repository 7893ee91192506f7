"""A stored scorer gives every term of a text the highest score of its tokens."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import hi2
from hi2.selectors.learned import TermScorer, encode_with_special_tokens, pad_batch
from hi2.selectors.terms import LearnedTerms
from hi2.text.tokenizer import Tokenizer

CLS, SEP = 101, 102


@pytest.fixture(scope="module")
def bert():
    return Tokenizer.load(None)


def config(**changes):
    return json.dumps({"transformer": {}, "begin": CLS, "end": SEP, "max_tokens": 6, **changes}).encode()


def test_texts_are_framed_by_special_tokens_and_truncated(bert):
    texts = ["the red river", "", "one two three four five six"]
    tokens, offsets = encode_with_special_tokens(bert, texts, 6, CLS, SEP)
    rows = [tokens[offsets[i] : offsets[i + 1]].tolist() for i in range(3)]
    assert [[bert.name(token) for token in row] for row in rows] == [
        ["[CLS]", "the", "red", "river", "[SEP]"],
        ["[CLS]", "[SEP]"],
        ["[CLS]", "one", "two", "three", "four", "[SEP]"],
    ]


def test_a_batch_is_padded_to_its_longest_text():
    tokens, offsets = np.arange(1, 8), np.array([0, 2, 3, 7])
    ids, mask = pad_batch(tokens, offsets, np.array([1, 0]))
    assert ids.tolist() == [[3, 0], [1, 2]]
    assert mask.tolist() == [[1, 0], [1, 1]]
    assert pad_batch(tokens, offsets, np.array([2]))[0].tolist() == [[4, 5, 6, 7]]


@pytest.mark.parametrize("stored", [b"", b"[]", b"{}", b'{"transformer": {}, "begin": "x", "end": 1, "max_tokens": 4}'])
def test_a_damaged_configuration_is_named(stored):
    with pytest.raises(hi2.FormatError, match="term scorer"):
        TermScorer(stored, b"")


def test_a_scorer_without_a_runtime_names_the_extras(bert, monkeypatch):
    for name in ("torch", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[train\].*hi2\[onnx\]"):
        TermScorer(config(), b"").weights(bert, ["a text"])


def test_learned_terms_need_a_scorer(bert):
    with pytest.raises(hi2.InvalidParameter, match="no scorer"):
        LearnedTerms().bags(bert, ["a text"])


def test_a_graph_is_scored_with_the_stored_weights(bert, monkeypatch):
    """The graph looks up a score per token; the scores themselves are in the file of weights."""
    pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    pytest.importorskip("safetensors", reason="needs the extra 'onnx'")
    from onnx import TensorProto, helper
    from safetensors.numpy import save

    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in ("ids", "mask")]
    inputs.append(helper.make_tensor_value_info("table", TensorProto.FLOAT, [bert.n_terms]))
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", "t"])
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["found"]),
        helper.make_node("Cast", ["mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["found", "real"], ["scores"]),
    ]
    graph = helper.make_graph(nodes, "scores", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    table = np.zeros(bert.n_terms, np.float16)  # weights may be stored in half precision
    red, river = bert.number("red"), bert.number("river")
    table[[red, river, bert.number("the"), CLS]] = [2.0, 0.5, -1.0, 9.0]
    monkeypatch.setitem(sys.modules, "torch", None)
    scorer = TermScorer(config(), save({"table": table}), model.SerializeToString())
    texts = [*["the red river"] * 40, "the", "one two three four red"]
    bags = LearnedTerms(scorer=scorer).bags(bert, texts)
    rows = [
        dict(zip(bags.terms[a:b].tolist(), bags.values[a:b].tolist(), strict=True))
        for a, b in zip(bags.offsets[:-1].astype(int), bags.offsets[1:].astype(int), strict=True)
    ]
    assert rows == [*[{red: 2.0, river: 0.5}] * 40, {}, {}]  # the last text is cut before its term
    assert bags.lengths.tolist() == [*[3] * 40, 1, 4]
