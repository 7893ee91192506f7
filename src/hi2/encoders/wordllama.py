"""The static vectors of the wordllama package, read from its files; needs the extra ``wordllama``.

The package's own loader downloads the tokenizer although it ships it. Reading both files directly needs no network.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import MissingExtra
from hi2.types import Floats


class WordLlamaEncoder:
    """Encode texts as the mean of their token vectors, 256 dimensions, at unit length."""

    source = "wordllama"

    def __init__(self) -> None:
        package = importlib.util.find_spec("wordllama")
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            package = None
        if package is None or package.origin is None:
            raise MissingExtra("WordLlamaEncoder needs an extra; install it with: pip install 'hi2[wordllama]'")
        folder = Path(package.origin).parent
        tensors: dict[str, Any] = load_file(str(folder / "weights" / "l2_supercat_256.safetensors"))
        self._vectors = np.asarray(next(iter(tensors.values())), np.float32)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, dim) of ``texts``."""
        vectors = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for begin in range(0, len(texts), 1024):
            encoded = self._tokenizer.encode_batch(list(texts[begin : begin + 1024]), add_special_tokens=False)
            for row, one in enumerate(encoded, begin):
                if one.ids:
                    vectors[row] = self._vectors[one.ids].mean(0)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors
