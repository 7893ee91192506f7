"""A stored scorer gives every term of a text the highest score of its tokens."""

from __future__ import annotations

import copy
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


#: A transformer with BERT's vocabulary.
SMALL = {
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 4,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "intermediate_size": 4,
    "max_position_embeddings": 16,
}


def small_state():
    """The tensors of a scorer with that transformer."""
    import torch
    import transformers

    model = transformers.BertModel(transformers.BertConfig(**SMALL))
    state = {f"encoder.{name}": tensor.clone() for name, tensor in model.state_dict().items() if "pooler" not in name}
    state |= {"mlp.hidden.weight": torch.ones(4, 4), "mlp.hidden.bias": torch.ones(4)}
    return state | {"mlp.score.weight": torch.ones(1, 4), "mlp.score.bias": torch.ones(1)}


def config(**changes):
    return json.dumps(
        {"transformer": {"model_type": "bert"}, "begin": CLS, "end": SEP, "max_tokens": 6, **changes}
    ).encode()


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


@pytest.mark.parametrize(
    "stored",
    [
        *(b"", b"[]", b"{}", b'{"transformer": {}, "begin": "x", "end": 1, "max_tokens": 4}', b"[" * 100_000),
        *(config(max_tokens=number) for number in (-1, 2, 513, 10**30, 8.5, True, None, float("inf"))),
        *(config(**{name: number}) for name in ("begin", "end") for number in (-1, 2**24, 2**40, "1", None)),
    ],
)
def test_a_damaged_configuration_is_named(stored):
    with pytest.raises(hi2.FormatError, match="term scorer"):
        TermScorer(stored, b"")


@pytest.mark.parametrize("changes", [{"max_tokens": 10**30}, {"max_tokens": 2}, {"begin": -1}, {"end": 2**24}])
def test_numbers_that_no_scorer_has_are_refused(changes):
    TermScorer(config(), b"")
    with pytest.raises(hi2.FormatError, match="must be an integer from"):
        TermScorer(config(**changes), b"")


def test_special_tokens_are_of_the_vocabulary():
    TermScorer(config(), b"", n_terms=SEP + 1)
    with pytest.raises(hi2.FormatError, match="end must be an integer from 0 to 101, got 102"):
        TermScorer(config(), b"", n_terms=SEP)


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


@pytest.mark.parametrize("kind", ["rag", "timm_wrapper", "beside.Evil", None, ["bert"]])
def test_only_architectures_that_bring_and_fetch_nothing_are_scorers(kind):
    with pytest.raises(hi2.FormatError, match="is not one of albert, bert"):
        TermScorer(config(transformer={"model_type": kind}), b"")


def test_settings_of_a_scorer_cannot_name_code(monkeypatch):
    """Such settings would make transformers fetch a kernel or ask whether it may run the code of a model."""
    pytest.importorskip("torch", reason="needs the extra 'train'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")
    from safetensors.torch import save

    named = {
        "auto_map": {"AutoModel": "someone/model--beside.Evil"},
        "_attn_implementation": "someone/kernel",
        "attn_implementation": "someone/kernel",
        "quantization_config": {"quant_method": "bitsandbytes"},
        "_name_or_path": "someone/model",
    }
    scorer = TermScorer(config(transformer={**SMALL, **named}), save(small_state()))
    seen = []
    from_config = transformers.AutoModel.from_config
    monkeypatch.setattr(
        transformers.AutoModel,
        "from_config",
        lambda own, **given: seen.append((copy.deepcopy(own), given)) or from_config(own, **given),
    )
    ids = np.array([[1, 2, 3]])
    assert scorer._score(ids, np.ones_like(ids)).shape == (1, 3)
    assert seen
    for own, given in seen:
        assert given == {"attn_implementation": "eager", "trust_remote_code": False}
        assert not hasattr(own, "auto_map")
        assert not hasattr(own, "quantization_config")
        assert "someone" not in own.to_json_string()
        assert "someone" not in str(vars(own))  # also what is not written, such as its name


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab_size": 50},
        {"vocab_size": 10**9},
        {"hidden_size": 8},
        {"intermediate_size": 10**12},
        {"max_position_embeddings": 10**9},
        {"num_hidden_layers": 2},
        {"num_hidden_layers": 10**9},
        {"model_type": "albert", "embedding_size": 4, "inner_group_num": 10**9},
        {"model_type": "modernbert", "num_hidden_layers": 10**9},
    ],
)
def test_a_model_that_does_not_fit_its_weights_is_not_made(bert, monkeypatch, changes):
    """A few bytes of settings could otherwise ask for any amount of memory."""
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")
    from safetensors.torch import save

    made = []
    from_config = transformers.AutoModel.from_config

    def watched(own, **given):
        made.append(torch.get_default_device().type)
        if made[-1] != "meta":
            raise RuntimeError("not made, to keep the test's memory small")
        return from_config(own, **given)

    monkeypatch.setattr(transformers.AutoModel, "from_config", watched)
    scorer = TermScorer(config(transformer={**SMALL, **changes}), save(small_state()))
    with pytest.raises(hi2.FormatError, match="cannot be loaded"):
        scorer.weights(bert, ["a text"])
    assert made in ([], ["meta"])  # a model on this device takes no memory


def test_labels_are_not_made(monkeypatch):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")
    from safetensors.torch import save

    labels = {"num_labels": 5, "id2label": {"0": "a"}, "label2id": {"a": 0}}
    scorer = TermScorer(config(transformer={**SMALL, **labels}), save(small_state()))
    seen = []
    for_model = transformers.AutoConfig.for_model
    monkeypatch.setattr(
        transformers.AutoConfig, "for_model", lambda kind, **given: seen.append(given) or for_model(kind, **given)
    )
    ids = np.array([[1, 2, 3]])
    assert scorer._score(ids, np.ones_like(ids)).shape == (1, 3)
    assert [set(given) & set(labels) for given in seen] == [set()]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"return_dict": False}, {}),
        ({}, {"mlp.hidden.weight": (4, 9)}),
        ({}, {"mlp.score.weight": (3, 4), "mlp.score.bias": (3,)}),
        ({}, {"mlp.hidden.weight": None}),
        ({}, {"mlp.hidden.bias": (4,), "mlp.score.weight": (1, 4)}),  # 1e30 squared is infinite
    ],
)
def test_a_model_that_cannot_score_is_a_format_error(bert, changes, state):
    torch = pytest.importorskip("torch", reason="needs the extra 'train'")
    pytest.importorskip("transformers", reason="needs the extra 'train'")
    from safetensors.torch import save

    own = {**small_state(), **{name: shape and torch.full(shape, 1e30) for name, shape in state.items()}}
    own = {name: tensor for name, tensor in own.items() if tensor is not None}
    assert len(TermScorer(config(transformer=SMALL), save(small_state())).weights(bert, ["a text"])) == 1
    scorer = TermScorer(config(transformer={**SMALL, **changes}), save(own))
    scorer.check_weights()
    with pytest.raises(hi2.FormatError, match="term scorer cannot score texts"):
        scorer.weights(bert, ["a text"])


def test_a_graph_that_cannot_score_is_a_format_error(bert, monkeypatch):
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    from safetensors.numpy import save

    monkeypatch.setitem(sys.modules, "torch", None)
    node, floats = onnx.helper.make_node, onnx.TensorProto.FLOAT
    cast = node("Cast", ["ids"], ["f"], to=floats)
    zero = node("Sub", ["f", "f"], ["z"])
    graphs = {
        "fits": [node("Cast", ["ids"], ["scores"], to=floats)],
        "another shape": [cast, node("ReduceSum", ["f"], ["scores"], keepdims=0)],
        "strings": [node("Cast", ["ids"], ["scores"], to=onnx.TensorProto.STRING)],
        "not a number": [cast, zero, node("Div", ["z", "z"], ["scores"])],
        "infinite": [cast, zero, node("Div", ["f", "z"], ["scores"])],
        "fails": [node("Gather", ["ids", "ids"], ["q"]), node("Cast", ["q"], ["scores"], to=floats)],
    }
    inputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["n", "t"]) for name in ("ids", "mask")]
    for name, nodes in graphs.items():
        kind = onnx.TensorProto.STRING if name == "strings" else floats
        graph = onnx.helper.make_graph(
            nodes, "scores", inputs, [onnx.helper.make_tensor_value_info("scores", kind, None)]
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        scorer = TermScorer(config(), save({"unused": np.zeros(1, np.float32)}), model.SerializeToString())
        if name == "fits":
            assert len(scorer.weights(bert, ["a text"])) == 1
            continue
        with pytest.raises(hi2.FormatError, match="term scorer cannot score texts"):
            scorer.weights(bert, ["a text"])


@pytest.mark.parametrize("without", ["torch", "nothing"])
def test_a_scorer_that_cannot_be_loaded_is_a_format_error(bert, monkeypatch, without):
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    pytest.importorskip("torch", reason="needs the extra 'train'")
    if without == "torch":
        monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(hi2.FormatError, match="scorer cannot be loaded"):
        TermScorer(config(), b"no weights", b"no graph").weights(bert, ["a text"])


def test_a_graph_runs_on_the_cpu_alone(bert, monkeypatch):
    """Another provider could call a service that the graph names."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    pytest.importorskip("safetensors", reason="needs the extra 'onnx'")
    monkeypatch.setitem(sys.modules, "torch", None)
    seen = []

    def session(graph, **given):
        seen.append(given)
        raise RuntimeError("enough")

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    with pytest.raises(hi2.FormatError, match="enough"):
        TermScorer(config(), b"", b"a graph").weights(bert, ["a text"])
    assert seen == [{"providers": ["CPUExecutionProvider"]}]


def tensors(**arrays):
    """The bytes of a safetensors file."""
    names = {"float16": "F16", "float32": "F32", "int64": "I64", "uint16": "BF16", "uint8": "F8_E4M3"}
    listed, at = {"__metadata__": {"format": "pt"}}, 0
    for name, array in arrays.items():
        listed[name] = {"dtype": names[str(array.dtype)], "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    header = json.dumps(listed).encode()
    return len(header).to_bytes(8, "little") + header + b"".join(array.tobytes() for array in arrays.values())


def test_weights_that_cannot_be_used_are_named():
    whole = {"a": np.ones((3, 2), np.float16), "n": np.arange(5), "b": np.ones(3, np.float32)}
    whole["half"] = np.array([0x3F80, 0x7F7F], np.uint16)  # 1 and the largest number of bfloat16
    TermScorer(config(), tensors(**whole)).check_weights()
    bad = [tensors(**{**whole, name: whole[name] * np.float16("nan")}) for name in ("a", "b")]
    bad += [tensors(**whole, more=np.array([0x3F80, bits], np.uint16)) for bits in (0x7F80, 0xFF80, 0x7FC0)]
    bad.append(tensors(**whole, more=np.zeros(4, np.uint8)))  # a type of floats that is not read
    header = b'{"a": {"dtype": "F16", "data_offsets": [-4, 0]}}'
    bad += [tensors(**whole)[:-1], b"", b"\xff" * 40, len(header).to_bytes(8, "little") + header]
    for weights in bad:
        with pytest.raises(hi2.FormatError, match=r"scorer\.safetensors"):
            TermScorer(config(), weights).check_weights()
