"""How are terms scored by a trained model? A transformer and a small MLP score every token of a text.

An index stores the scorer as ``scorer.safetensors`` and ``scorer.json``, with the computation as an ONNX graph without
weights. It is loaded when the first text is scored. It uses the index's own tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hi2.arguments import MAX_TERMS
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
_TEXTS_AT_A_TIME = 32
#: No transformer reads longer texts.
_MOST_TOKENS = 1 << 20
#: Settings of a transformer that could name code, and that no architecture needs.
_NOT_SETTINGS = ("auto_map", "quantization_config", "attn_implementation", "experts_implementation", "dtype")
#: The types of floats in a safetensors file.
_FLOATS = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


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


class TermScorer:
    """Score the terms of texts by a transformer; needs torch and transformers, or onnxruntime."""

    def __init__(self, config: bytes, weights_file: Any, graph: Any = None) -> None:
        self.config = config
        #: The bytes of an ONNX graph without weights, for machines without torch; None if it could not be exported.
        self.graph: Any = graph
        #: The bytes of a safetensors file.
        self.weights_file: Any = weights_file
        try:
            settings = json.loads(config)
            self._transformer = _plain_settings(settings["transformer"])
            self._begin, self._end = int(settings["begin"]), int(settings["end"])
            self.max_tokens = int(settings["max_tokens"])
            if not 2 < self.max_tokens <= _MOST_TOKENS or not all(0 <= n < MAX_TERMS for n in (self._begin, self._end)):
                raise ValueError("a number is out of range")
        except (ValueError, KeyError, TypeError) as error:
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
                kind = _FLOATS.get(own["dtype"])
                if kind is not None and not np.isfinite(values.copy().view(kind)).all():
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
            found = self._score(ids, mask)
            for position, row in enumerate(rows):
                scores[offsets[row] : offsets[row + 1]] = found[position, : lengths[row]]
        return max_score_per_term(tokens, lengths, scores, tokenizer.dropped)

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
            "This index scores documents by a transformer; to add to it: pip install 'hi2[train]', or 'hi2[onnx]'"
        )

    def _load_with_torch(self) -> Callable[[I64, I64], Floats]:
        import torch
        import transformers
        from safetensors.torch import load

        state = {name: tensor.float() for name, tensor in load(bytes(self.weights_file)).items()}
        given = dict(self._transformer)
        config = transformers.AutoConfig.for_model(given.pop("model_type"), **given)
        auto: Any = transformers.AutoModel
        model = auto.from_config(config, attn_implementation="eager", trust_remote_code=False).float().eval()
        own = {name.removeprefix("encoder."): tensor for name, tensor in state.items() if name.startswith("encoder.")}
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
