"""Any ONNX model as an encoder: a folder with the model and its tokenizer; runs without torch.

A folder without ``tokenizer.json`` gets BERT's tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import MissingExtra, invalid
from hi2.text.library_errors import library_errors
from hi2.text.tokenizer import bert_definition
from hi2.types import Floats


def _bert_tokenizer() -> Any:
    """Return BERT's tokenizer, which adds the special tokens that BERT models expect."""
    from tokenizers import Tokenizer
    from tokenizers.processors import BertProcessing

    tokenizer = Tokenizer.from_str(bert_definition())
    vocabulary = tokenizer.get_vocab()
    tokenizer.post_processor = BertProcessing(*((mark, vocabulary[mark]) for mark in ("[SEP]", "[CLS]")))
    return tokenizer


class OnnxEncoder:
    """Encode with onnxruntime; needs the extra ``onnx``.

    The vectors are the model's output ``sentence_embedding`` if it has one, else its token states, pooled by
    ``pooling`` ('mean' or 'cls'), else an output of shape (n, dim). Outputs whose width depends on the text are not
    vectors.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        pooling: str = "mean",
        prefix: str = "",
        max_length: int = 128,
        normalise: bool = True,
        batch_size: int = 32,
    ) -> None:
        if pooling not in ("mean", "cls"):
            raise invalid("pooling", "'mean' or 'cls'", repr(pooling))
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("OnnxEncoder needs an extra; install it with: pip install 'hi2[onnx]'") from error
        folder = Path(source)
        models = sorted(folder.rglob("*.onnx")) if folder.is_dir() else []
        if not models:
            raise invalid("source", "a folder with a .onnx model and its tokenizer.json", f"'{source}'")
        tokenizers = sorted(folder.rglob("tokenizer.json"))
        try:
            self._session: Any = onnxruntime.InferenceSession(str(models[0]), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise invalid("source", "a model that onnxruntime reads", f"'{models[0]}' ({error})") from error
        with library_errors("source"):
            self._tokenizer = Tokenizer.from_file(str(tokenizers[0])) if tokenizers else _bert_tokenizer()
            self._tokenizer.enable_truncation(max_length)
            self._tokenizer.enable_padding()
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._output = _vector_output(self._session.get_outputs(), models[0])
        self.source = str(folder.resolve())
        self._pooling, self._prefix, self._normalise, self._batch_size = pooling, prefix, normalise, batch_size

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, dim) of ``texts``."""
        parts = []
        for begin in range(0, len(texts), self._batch_size):
            some = [self._prefix + text for text in texts[begin : begin + self._batch_size]]
            with library_errors("source"):
                encoded = self._tokenizer.encode_batch(some)
            known = {
                "input_ids": np.array([one.ids for one in encoded], np.int64),
                "attention_mask": np.array([one.attention_mask for one in encoded], np.int64),
                "token_type_ids": np.array([one.type_ids for one in encoded], np.int64),
            }
            output = self._session.run([self._output], {name: known[name] for name in self._inputs})[0]
            parts.append(self._pool(np.asarray(output, np.float32), known["attention_mask"]))
        vectors: Floats = np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
        if self._normalise:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def _pool(self, states: Floats, mask: Any) -> Floats:
        if states.ndim == 2:
            return states
        if self._pooling == "cls":
            return np.ascontiguousarray(states[:, 0])
        weights = mask[:, :, None].astype(np.float32)
        mean: Floats = (states * weights).sum(1) / np.maximum(weights.sum(1), 1)
        return mean


def _vector_output(outputs: Sequence[Any], model: Path) -> str:
    """Return the name of the output that holds vectors: ``sentence_embedding``, or one of fixed width if possible."""
    named = [one for one in outputs if one.name == "sentence_embedding"]
    for found in (
        named,
        [one for one in outputs if len(one.shape) == 3 and isinstance(one.shape[2], int)],
        [one for one in outputs if len(one.shape) == 2 and isinstance(one.shape[1], int)],
        [one for one in outputs if len(one.shape) == 3],
    ):
        if found:
            return str(found[0].name)
    shapes = ", ".join(f"{one.name} {one.shape}" for one in outputs)
    raise invalid("source", "a model that gives token states or vectors of a fixed width", f"'{model}' with {shapes}")
