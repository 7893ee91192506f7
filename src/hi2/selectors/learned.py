"""How are terms scored by a trained model? A transformer and a small MLP score every token of a text.

An index stores the scorer as ``scorer.safetensors`` and ``scorer.json``, with the computation as an ONNX graph without
weights. It is loaded when the first text is scored. It uses the index's own tokenizer.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from hi2.data.lazy import lazy
from hi2.errors import FormatError, MissingExtra
from hi2.text.bags import Bags, max_score_per_term
from hi2.text.tokenizer import Analyzer
from hi2.types import I64, Array, Floats

#: Architectures of a scorer. Their code is part of transformers, and they fetch nothing.
ARCHITECTURES = (
    "albert",
    "bert",
    "camembert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "modernbert",
    "mpnet",
    "roberta",
    "xlm-roberta",
)
#: The most tokens of a text that a scorer is trained for.
MAX_TOKENS = 512
_TEXTS_AT_A_TIME = 32
#: Token numbers are below this.
_MAX_TERMS = 1 << 24
#: Settings of a transformer that could name code, or ask for a label per number, and that no architecture needs.
_NOT_SETTINGS = (
    *("auto_map", "quantization_config", "attn_implementation", "experts_implementation", "dtype"),
    *("num_labels", "id2label", "label2id"),
)
#: The types of floats in a safetensors file. BF16 is the upper half of a float32, so it is decoded from integers.
_FLOATS = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": np.uint16}


def encode_with_special_tokens(
    analyzer: Analyzer, texts: Sequence[str], max_tokens: int, begin: int, end: int
) -> tuple[Array, I64]:
    """Return the tokens of texts and their offsets; each text starts with ``begin`` and ends with ``end``.

    A text is truncated to ``max_tokens``, these two included.
    """
    tokens, bounds = analyzer.encode(list(texts), max_tokens=max_tokens - 2)
    counts = np.diff(bounds).astype(np.int64) + 2
    offsets = np.append(0, np.cumsum(counts))
    first, last = offsets[:-1], offsets[1:] - 1
    out = np.empty(int(offsets[-1]), np.int32)
    is_special = np.zeros(len(out), bool)
    is_special[first] = True
    is_special[last] = True
    out[~is_special] = tokens
    out[first] = begin
    out[last] = end
    return out, offsets


def pad_batch(tokens: Array, offsets: I64, rows: Array) -> tuple[I64, I64]:
    """Return the tokens and the attention mask of some texts (n, longest), padded to the longest text."""
    lengths = np.diff(offsets)[rows]
    mask = (np.arange(int(lengths.max()))[None] < lengths[:, None]).astype(np.int64)
    ids = np.zeros(mask.shape, np.int64)
    ids[mask.astype(bool)] = np.concatenate([tokens[offsets[row] : offsets[row + 1]] for row in rows])
    return ids, mask


def _plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a scorer's transformer without those that could make transformers run or fetch code."""
    if given["model_type"] not in ARCHITECTURES:
        raise ValueError(f"{given['model_type']!r} is not one of {', '.join(ARCHITECTURES)}")
    return {key: given[key] for key in given if key not in _NOT_SETTINGS and not key.startswith("_")}


def _integer(settings: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = settings[name]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}")
    return value


def _has_finite_values(kind: str, values: Array) -> bool:
    if kind not in _FLOATS:
        if kind.startswith("F"):
            raise ValueError(f"floats of type {kind} are not known")
        return True
    numbers = values.copy().view(_FLOATS[kind])
    if kind == "BF16":
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    return bool(np.isfinite(numbers).all())


def _check_counts(settings: Mapping[str, Any], n_tensors: int) -> None:
    """Refuse more layers than there are weights for: each costs time and memory before shapes can be compared."""
    for name, value in settings.items():
        if ("layers" in name or "group" in name) and isinstance(value, int) and value > n_tensors:
            raise ValueError(f"{name} is {value}, but there are weights of {n_tensors} tensors")


def _check_shapes(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse a model whose tensors are not those of the file. A pooler is not stored, because it is not used."""
    for name, tensor in wanted.items():
        if name not in given and "pooler" not in name:
            raise ValueError(f"{name} is missing")
        if name in given and given[name].shape != tensor.shape:
            raise ValueError(f"{name} has shape {tuple(given[name].shape)}, not {tuple(tensor.shape)}")
    size = sum(tensor.numel() for tensor in wanted.values())
    stored = sum(tensor.numel() for tensor in given.values())
    if size > 2 * stored:
        raise ValueError(f"a model of {size} numbers has weights for {stored}")


class TermScorer:
    """Score the terms of texts by a transformer; needs torch and transformers, or onnxruntime."""

    def __init__(self, config: bytes, weights_file: Any, graph: Any = None, *, n_terms: int = _MAX_TERMS) -> None:
        self.config = config
        #: The bytes of an ONNX graph without weights, for machines without torch; None if it could not be exported.
        self.graph: Any = graph
        #: The bytes of a safetensors file.
        self.weights_file: Any = weights_file
        try:
            settings = json.loads(config)
            self._transformer = _plain_settings(settings["transformer"])
            self._begin, self._end = (_integer(settings, name, 0, n_terms - 1) for name in ("begin", "end"))
            self.max_tokens = _integer(settings, "max_tokens", 3, MAX_TOKENS)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(
                f"The index is damaged: its term scorer's configuration cannot be read ({error})."
            ) from error

    def check_weights(self) -> None:
        """Raise FormatError unless the weights can be read and are finite numbers."""
        data = np.frombuffer(self.weights_file, np.uint8)
        try:
            first = 8 + int.from_bytes(data[:8].tobytes(), "little")
            for name, own in json.loads(data[8:first].tobytes()).items():
                if name == "__metadata__":
                    continue
                begin, end = own["data_offsets"]
                values = data[first + begin : first + end]
                if not 0 <= begin <= end or len(values) != end - begin:
                    raise ValueError(f"{name} is cut off")
                if not _has_finite_values(own["dtype"], values):
                    raise ValueError(f"{name} has a value that is not finite")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"The index is damaged: scorer.safetensors cannot be used ({error!r}).") from error

    def weights(self, tokenizer: Analyzer, texts: Sequence[str]) -> Bags:
        """Return the terms of texts, each with the highest score of its tokens."""
        tokens, offsets = encode_with_special_tokens(tokenizer, texts, self.max_tokens, self._begin, self._end)
        lengths = np.diff(offsets)
        scores: Floats = np.zeros(len(tokens), np.float32)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), _TEXTS_AT_A_TIME):
            rows = order[start : start + _TEXTS_AT_A_TIME]
            ids, mask = pad_batch(tokens, offsets, rows)
            found = self._checked_scores(ids, mask)
            for position, row in enumerate(rows):
                scores[offsets[row] : offsets[row + 1]] = found[position, : lengths[row]]
        return max_score_per_term(tokens, lengths, scores, tokenizer.dropped)

    def _checked_scores(self, ids: I64, mask: I64) -> Floats:
        """Return the scores of tokens (n, longest); a stored model may fail, or return anything."""
        score = self._score
        try:
            found = np.asarray(score(ids, mask))
            if found.shape != ids.shape or found.dtype.kind not in "fiu":
                raise ValueError(f"scores of shape {ids.shape} are needed, got {found.dtype} of shape {found.shape}")
            with np.errstate(over="ignore"):
                scores: Floats = found.astype(np.float32, copy=False)
            if not np.isfinite(scores[mask.astype(bool)]).all():
                raise ValueError("a score is not finite")
        except (MissingExtra, MemoryError):
            raise
        except Exception as error:
            raise FormatError(f"The index is damaged: its term scorer cannot score texts ({error}).") from error
        return scores

    @lazy
    def _score(self) -> Callable[[I64, I64], Floats]:
        for load in (self._load_with_torch, self._load_with_onnxruntime):
            try:
                return load()
            except (MissingExtra, MemoryError):
                raise
            except ImportError:
                continue
            except Exception as error:
                raise FormatError(f"The index is damaged: its term scorer cannot be loaded ({error}).") from error
        raise MissingExtra(
            "This index scores documents by a transformer; to add to it: pip install 'hi2[train]' or 'hi2[onnx]'"
        )

    def _load_with_torch(self) -> Callable[[I64, I64], Floats]:
        import torch
        import transformers
        from safetensors.torch import load

        state = {name: tensor.float() for name, tensor in load(bytes(self.weights_file)).items()}
        own = {name.removeprefix("encoder."): tensor for name, tensor in state.items() if name.startswith("encoder.")}
        given = dict(self._transformer)
        _check_counts(given, len(state))
        config = transformers.AutoConfig.for_model(given.pop("model_type"), **given)
        auto: Any = transformers.AutoModel
        make = partial(auto.from_config, attn_implementation="eager", trust_remote_code=False)
        with torch.device("meta"):  # shapes without memory
            _check_shapes(make(copy.deepcopy(config)).state_dict(), own)
        model = make(config).float().eval()
        model.load_state_dict(own, strict=False)
        linear = torch.nn.functional.linear

        def score(ids: I64, mask: I64) -> Floats:
            with torch.inference_mode():
                out = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state
                inner = torch.relu(linear(out, state["mlp.hidden.weight"], state["mlp.hidden.bias"]))
                scores = torch.relu(linear(inner, state["mlp.score.weight"], state["mlp.score.bias"]))
                found: Floats = scores.squeeze(-1).numpy()
                return found

        return score

    def _load_with_onnxruntime(self) -> Callable[[I64, I64], Floats]:
        import onnxruntime
        from safetensors.numpy import load

        if self.graph is None:
            raise MissingExtra("This index's scorer has no ONNX graph; to add to it: pip install 'hi2[train]'")
        # Other providers could call a service that the graph names.
        session = onnxruntime.InferenceSession(bytes(self.graph), providers=["CPUExecutionProvider"])
        state = {name: array.astype(np.float32) for name, array in load(bytes(self.weights_file)).items()}
        # The graph has no weights of its own: they are inputs of every call, passed by reference.
        weights = {given.name: state[given.name] for given in session.get_inputs() if given.name not in ("ids", "mask")}

        def score(ids: I64, mask: I64) -> Floats:
            found: Floats = session.run(None, {"ids": ids, "mask": mask, **weights})[0]
            return found

        return score
