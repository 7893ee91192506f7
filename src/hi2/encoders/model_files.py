"""Can a sentence-transformers model be loaded without running code of its own?

Such a model is a list of modules, each a Python class named in ``modules.json``, with a folder of weights and settings.
A class may lie beside the list, and weights may be pickles; both would run whatever their author wrote. Which versions
of sentence-transformers refuse them differs, so the files are read here first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hi2.errors import InvalidParameter, invalid

#: Modules of sentence-transformers that are made of numbers alone. The others name further classes to import.
PLAIN_MODULES = (
    *("BoW", "CNN", "Dense", "Dropout", "LSTM", "LayerNorm", "Normalize", "Pooling", "StaticEmbedding", "Transformer"),
    *("WeightedLayerPooling", "WordWeights"),
)
#: What is fetched of a model on the hub: settings, vocabularies and weights, but no code and no pickles.
PLAIN_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
#: Pickled weights, and the files that are read instead of them.
_WEIGHTS = (
    ("pytorch_model*.bin", ("model.safetensors", "model.safetensors.index.json")),
    ("adapter_model*.bin", ("adapter_model.safetensors",)),
)
_OWN_WAY = "Load it yourself and pass it as a callable from a list of strings to an array."


def local_folder(source: str | Path) -> Path:
    """Return a model's folder; a model on the hub is fetched, except for code and pickles."""
    if not str(source):  # as a path it would be the current folder
        raise invalid("source", "the folder or the name of a model", "''")
    if Path(source).is_dir():
        return Path(source)
    from huggingface_hub import snapshot_download

    fetch = partial(
        snapshot_download,
        allow_patterns=list(PLAIN_FILES),
        cache_dir=os.environ.get("SENTENCE_TRANSFORMERS_HOME"),
    )
    if "/" not in str(source):  # models of sentence-transformers may be named without their organisation
        with suppress(Exception):
            return Path(fetch(f"sentence-transformers/{source}"))
    return Path(fetch(str(source)))


def check_plain(folder: Path) -> None:
    """Raise InvalidParameter if loading the model could run code that is not part of the installed libraries."""
    listed = folder / "modules.json"
    modules = _read(listed) if listed.is_file() else [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    if not isinstance(modules, list):
        raise _refused(listed, "is not a list of modules")
    for module in modules:
        kind, place = (str(module.get(key, "")) if isinstance(module, dict) else "" for key in ("type", "path"))
        if not kind.startswith("sentence_transformers.") or kind.rpartition(".")[2] not in PLAIN_MODULES:
            raise _refused(listed, f"names {kind!r}, which is not one of the plain modules of sentence-transformers")
        own = folder / place
        if not own.resolve().is_relative_to(folder.resolve()):
            raise _refused(listed, f"names the folder {place!r} outside the model")
        for pickled, plain in _WEIGHTS:
            found = next(own.glob(pickled), None)
            if found is not None and not any((own / name).is_file() for name in plain):
                raise _refused(found, f"is a pickle, with no {plain[0]} beside it")
        for settings in sorted(own.glob("*config*.json")):
            _check_settings(settings, _read(settings))


def check_transformer(source: str | Path) -> None:
    """Raise InvalidParameter if the settings of a transformers model, in a folder or on the hub, name code."""
    import transformers

    settings, _ = transformers.PretrainedConfig.get_config_dict(str(source))
    _check_settings(source, settings)


def _check_settings(source: str | Path, settings: Any) -> None:
    for key, value in _entries(settings):
        _check_setting(source, key, value)


def _check_setting(path: str | Path, key: str, value: Any) -> None:
    """Refuse settings that name a class outside torch.nn, choose pickled weights, or fetch code for attention."""
    if key == "activation_function" and "." in str(value) and not str(value).startswith("torch.nn."):
        raise _refused(path, f"names the activation {value!r}, which is not of torch.nn")
    if key == "use_safetensors" and value is not True:
        raise _refused(path, "asks for weights that are not safetensors")
    if key.endswith("attn_implementation") and "/" in str(value):
        raise _refused(path, f"names the code {value!r} for attention")


def _entries(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of nested JSON data with its value."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    if isinstance(data, dict):
        yield from data.items()
    for value in inner:
        yield from _entries(value)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(path, f"cannot be read ({error})") from error


def _refused(path: str | Path, what: str) -> InvalidParameter:
    return InvalidParameter(f"{path} {what}. hi2 loads no model that could run code of its own. {_OWN_WAY}")
