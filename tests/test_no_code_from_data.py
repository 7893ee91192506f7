"""No source file reads pickles, or imports or runs what data names: a file that does is found by its syntax."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path for folder in ("src", "benchmarks", "experiments", "docs") for path in (ROOT / folder).rglob("*.py")
)

#: Modules that run what they read, or whose readers do.
MODULES = (
    *("cloudpickle", "dill", "joblib", "marshal", "pickle", "_pickle", "runpy", "shelve", "yaml"),
    *("torch.hub", "torch.jit", "torch.package"),
)
#: Functions that run code or import a module by its name.
FUNCTIONS = (
    *("eval", "exec", "compile", "__import__"),
    *("import_module", "reload", "spec_from_file_location", "module_from_spec"),
)
#: Functions of torch that read or write pickles.
PICKLERS = ("torch.load", "torch.save", "torch.hub.load", "torch.jit.load")
#: Files that import modules by name, and why they may.
EXCEPTIONS = {
    "src/hi2/cli/quickstart.py": {"import_module"},  # the names are sys.stdlib_module_names
}


def dotted(node: ast.expr) -> str:
    """Return the name of what is called: ``torch.load``, ``re.compile``, ``eval``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def literal(call: ast.Call, name: str) -> object:
    """Return the literal value of a keyword argument; None if it is absent or not a literal."""
    return next((getattr(key.value, "value", None) for key in call.keywords if key.arg == name), None)


def nested(call: ast.Call, name: str, key: str) -> object:
    """Return the literal value of a key of a dictionary that is given as a keyword argument."""
    given = next((own.value for own in call.keywords if own.arg == name), None)
    if not isinstance(given, ast.Dict):
        return None
    pairs = zip(given.keys, given.values, strict=True)
    return next((value.value for k, value in pairs if k.value == key and isinstance(value, ast.Constant)), None)


def faults(source: str, allowed: frozenset[str] | set[str] = frozenset()) -> list[str]:
    """Return what a source does that could run code from data."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
            found += [f"import {name}" for name in names if any(f"{name}.".startswith(f"{own}.") for own in MODULES)]
            banned = {*PICKLERS, *(f"importlib.{own}" for own in FUNCTIONS)} - {f"importlib.{own}" for own in allowed}
            found += [f"import {name}" for name in names if name in banned]
        elif isinstance(node, ast.Call):
            found += call_faults(node, allowed)
        elif isinstance(node, ast.keyword) and node.arg in ("trust_remote_code", "allow_pickle"):
            found += [] if getattr(node.value, "value", None) is False else [f"{node.arg} is not False"]
    return found


def call_faults(call: ast.Call, allowed: frozenset[str] | set[str]) -> list[str]:
    name = dotted(call.func)
    last = name.rpartition(".")[2]
    found = []
    # ``re.compile`` and ``model.eval()`` are methods of other things.
    runs_code = last in FUNCTIONS and (name == last or name.startswith("importlib."))
    if (runs_code and last not in allowed) or name in PICKLERS:
        found.append(name)
    if name in ("np.load", "numpy.load") and literal(call, "allow_pickle") is not False:
        found.append(f"{name} without allow_pickle=False")
    if last in ("from_pretrained", "from_config") and name != "tokenizers.Tokenizer.from_pretrained":
        if literal(call, "trust_remote_code") is not False:
            found.append(f"{name} without trust_remote_code=False")
        reads_weights = last == "from_pretrained" and not name.endswith(
            ("Config.from_pretrained", "Tokenizer.from_pretrained")
        )
        if reads_weights and literal(call, "use_safetensors") is not True:
            found.append(f"{name} without use_safetensors=True")
    providers = next((own.value for own in call.keywords if own.arg == "providers"), None)
    if last == "InferenceSession" and (providers is None or ast.unparse(providers) != "['CPUExecutionProvider']"):
        found.append(f"{name} without providers=['CPUExecutionProvider']")
    safe = literal(call, "trust_remote_code") is False and nested(call, "model_kwargs", "use_safetensors") is True
    if last in ("SentenceTransformer", "CrossEncoder", "SparseEncoder") and not safe:
        found.append(f"{name} without trust_remote_code=False and use_safetensors=True")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_runs_code_from_data(path):
    allowed = EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), set())
    assert faults(path.read_text(encoding="utf-8"), allowed) == []


def test_there_are_sources_to_look_at():
    assert len(SOURCES) > 150
    assert all((ROOT / name).is_file() for name in EXCEPTIONS)


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import os, joblib",
        "from torch import hub",
        "from torch import load",
        "import yaml.loader",
        "torch.load('a', weights_only=True)",
        "torch.save({}, 'a')",
        "eval('1')",
        "exec(text)",
        "__import__(name)",
        "importlib.import_module(name)",
        "from importlib import import_module",
        "importlib.util.spec_from_file_location('a', path)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=chosen)",
        "read(path, allow_pickle=True)",
        "AutoModel.from_pretrained(a, trust_remote_code=False)",
        "AutoModel.from_pretrained(a, use_safetensors=True)",
        "AutoModel.from_pretrained(a, use_safetensors=True, trust_remote_code=True)",
        "kinds[head].from_pretrained(a)",
        "AutoTokenizer.from_pretrained(a)",
        "auto.from_config(a)",
        "SentenceTransformer(a)",
        "SentenceTransformer(a, trust_remote_code=False)",
        "SentenceTransformer(a, trust_remote_code=False, model_kwargs={'use_safetensors': None})",
        "CrossEncoder(a)",
        "onnxruntime.InferenceSession(graph)",
        "onnxruntime.InferenceSession(graph, providers=chosen)",
    ],
)
def test_each_way_is_found(source):
    assert faults(source)


@pytest.mark.parametrize(
    "source",
    [
        "import re; re.compile('a')",
        "model.eval()",
        "np.load(path, mmap_mode='r', allow_pickle=False)",
        "from importlib import resources",
        "onnxruntime.InferenceSession(graph, providers=['CPUExecutionProvider'])",
        "AutoTokenizer.from_pretrained(a, trust_remote_code=False)",
        "AutoModel.from_pretrained(a, use_safetensors=True, trust_remote_code=False)",
        "SentenceTransformer(a, trust_remote_code=False, model_kwargs={'use_safetensors': True})",
    ],
)
def test_what_is_safe_is_not_reported(source):
    assert faults(source) == []
