"""Any transformers model as an encoder, with the pooling, prefix and maximum length it was trained with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hi2.encoders.model_files import check_transformer
from hi2.errors import MissingExtra, invalid
from hi2.types import Floats

POOLINGS = ("cls", "mean", "pooler")


class TransformerEncoder:
    """Encode with a model from a folder or a hub name; needs the extra ``transformers``.

    ``pooling`` is 'cls' (the first token's state), 'mean' (over the text's tokens) or 'pooler' (the model's own pooled
    output, as in DPR). ``prefix`` is put before every text. Weights are read from safetensors, never from a pickle, and
    no code of the model is run.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        pooling: str = "cls",
        prefix: str = "",
        max_length: int = 256,
        normalise: bool = False,
        batch_size: int = 32,
    ) -> None:
        if pooling not in POOLINGS:
            raise invalid("pooling", f"one of {', '.join(POOLINGS)}", repr(pooling))
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtra(
                "TransformerEncoder needs an extra; install it with: pip install 'hi2[transformers]'"
            ) from error
        self._torch: Any = torch
        try:
            check_transformer(source)
            config = transformers.AutoConfig.from_pretrained(str(source), trust_remote_code=False)
            # DPR's two towers have the same configuration; only the name of the class distinguishes them.
            towers: dict[str, Any] = {
                "DPRContextEncoder": transformers.DPRContextEncoder,
                "DPRQuestionEncoder": transformers.DPRQuestionEncoder,
            }
            model_class = towers.get((config.architectures or [""])[0], transformers.AutoModel)
            self._model: Any = model_class.from_pretrained(
                str(source), use_safetensors=True, trust_remote_code=False
            ).eval()
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(source), trust_remote_code=False)
        except Exception as error:
            must = (
                "the folder of a transformers model with weights as safetensors (a local path always works), "
                "or a name where the hub is reached"
            )
            raise invalid("source", must, f"'{source}' ({error})") from error
        self.source = str(Path(source).resolve() if Path(source).is_dir() else source)
        self._pooling, self._prefix, self._normalise = pooling, prefix, normalise
        self._max_length, self._batch_size = max_length, batch_size

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, dim) of ``texts``."""
        parts = [np.zeros((0, int(self._model.config.hidden_size)), np.float32)]
        for begin in range(0, len(texts), self._batch_size):
            batch = [self._prefix + text for text in texts[begin : begin + self._batch_size]]
            tokens = self._tokenizer(
                batch, padding=True, truncation=True, max_length=self._max_length, return_tensors="pt"
            )
            with self._torch.inference_mode():
                parts.append(self._pool(self._model(**tokens), tokens["attention_mask"]).float().numpy())
        vectors: Floats = np.concatenate(parts)
        if self._normalise:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def _pool(self, output: Any, mask: Any) -> Any:
        if self._pooling == "pooler":
            return output.pooler_output
        states = output.last_hidden_state
        if self._pooling == "cls":
            return states[:, 0]
        weights = mask.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1).clamp(min=1)
