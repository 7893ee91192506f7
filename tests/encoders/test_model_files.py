"""A model is loaded only if it is made of settings and safetensors, with no class or code of its own."""

from __future__ import annotations

import json

import pytest

import hi2
from hi2.encoders.model_files import check_plain, local_folder


def module(kind, path=""):
    return {"idx": 0, "name": "0", "path": path, "type": kind}


TRANSFORMER = module("sentence_transformers.models.Transformer")
POOLING = module("sentence_transformers.models.Pooling", "1_Pooling")
DENSE = module("sentence_transformers.base.modules.dense.Dense", "2_Dense")


def write(folder, modules=None, **files):
    """Write a model; a file whose content is bytes is written as it is, the others as JSON."""
    for name, content in {**({} if modules is None else {"modules.json": modules}), **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def test_plain_models_are_accepted(tmp_path):
    check_plain(write(tmp_path / "bert", **{"config.json": {"model_type": "bert"}, "model.safetensors": b""}))
    layers = [TRANSFORMER, POOLING, DENSE, module("sentence_transformers.models.Normalize", "3_Normalize")]
    files = {
        "model.safetensors": b"",
        "pytorch_model.bin": b"never read, because there are safetensors",
        "sentence_bert_config.json": {"max_seq_length": 256, "model_args": {"attn_implementation": "sdpa"}},
        "1_Pooling/config.json": {"word_embedding_dimension": 8},
        "2_Dense/config.json": {"activation_function": "torch.nn.modules.activation.Tanh"},
        "2_Dense/model.safetensors": b"",
        "config.json": {"activation_function": "gelu", "tokenizer_class": "BertTokenizer"},
    }
    check_plain(write(tmp_path / "layers", layers, **files))


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("beside.Evil", "beside.Evil"),
        ("os.system", "os.system"),
        ("sentence_transformers", "sentence_transformers"),
        ("sentence_transformers_evil.Transformer", "sentence_transformers_evil"),
        ("sentence_transformers.util.misc.torch", "torch"),  # its load reads pickles
        ("sentence_transformers.models.Router", "Router"),  # names further classes in its settings
        ("sentence_transformers.models.WordEmbeddings", "WordEmbeddings"),
        ("", "''"),
        (None, "None"),
    ],
)
def test_a_module_that_is_not_plain_is_refused(tmp_path, kind, named):
    write(tmp_path, [TRANSFORMER, module(kind, "1_Other")])
    with pytest.raises(hi2.InvalidParameter, match=rf"modules\.json names.*{named}.*pass it as a callable"):
        check_plain(tmp_path)


@pytest.mark.parametrize("modules", [{"0": TRANSFORMER}, ["beside.Evil"], b"{", b"\xff", b"[" * 100_000])
def test_a_list_of_modules_that_cannot_be_read_is_refused(tmp_path, modules):
    with pytest.raises(hi2.InvalidParameter, match=r"modules\.json"):
        check_plain(write(tmp_path, modules))


@pytest.mark.parametrize(
    ("files", "match"),
    [
        ({"pytorch_model.bin": b""}, "is a pickle"),
        ({"pytorch_model-00001-of-00002.bin": b"", "other.safetensors": b""}, "is a pickle"),
        ({"adapter_model.bin": b"", "model.safetensors": b""}, "is a pickle"),
        ({"2_Dense/pytorch_model.bin": b"", "model.safetensors": b""}, "2_Dense.*is a pickle"),
        ({"2_Dense/config.json": {"activation_function": "os.system"}}, "activation 'os.system'"),
        ({"sentence_bert_config.json": {"model_args": {"use_safetensors": False}}}, "not safetensors"),
        ({"config.json": {"_attn_implementation": "someone/kernel"}}, "'someone/kernel' for attention"),
        ({"config.json": b"not JSON"}, "cannot be read"),
    ],
)
def test_pickled_weights_and_settings_that_name_code_are_refused(tmp_path, files, match):
    with pytest.raises(hi2.InvalidParameter, match=match):
        check_plain(write(tmp_path, [TRANSFORMER, DENSE], **files))


@pytest.mark.parametrize("path", ["../other", "/etc"])
def test_a_module_outside_the_model_is_refused(tmp_path, path):
    write(tmp_path / "model", [module("sentence_transformers.models.Dense", path)])
    with pytest.raises(hi2.InvalidParameter, match="outside the model"):
        check_plain(tmp_path / "model")


def test_a_folder_is_taken_as_it_is(tmp_path):
    assert local_folder(tmp_path) == tmp_path
    assert local_folder(str(tmp_path)) == tmp_path


def test_a_name_that_is_nowhere_is_an_error_of_the_hub(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="needs the extra 'sentence-transformers'")
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    for name in ("no/such/model", "../elsewhere"):
        with pytest.raises(ValueError, match="Repo id"):
            local_folder(name)


def test_an_empty_source_is_not_the_current_folder():
    with pytest.raises(hi2.InvalidParameter, match="'source'"):
        local_folder("")
