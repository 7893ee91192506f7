"""The encoder that ships with the package: one 256-dimensional vector per WordPiece, summed over the text.

It needs no model runtime. ``static_model/MODEL_CARD.md`` says what it was made from and how good it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import resources
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import thread_count
from hi2.text.tokenizer import Analyzer, Tokenizer
from hi2.types import U32, U64, Floats

_TEXTS_AT_A_TIME = 4096


class StaticEncoder:
    """Encode texts to 256-dimensional unit vectors, thousands per second on a CPU.

    >>> vectors = StaticEncoder()(["reverse a list", "sort a list in reverse order", "capital of France"])
    >>> bool(vectors[0] @ vectors[1] > vectors[0] @ vectors[2])
    True
    """

    def __init__(self, *, threads: int | None = None) -> None:
        folder = resources.files("hi2.encoders").joinpath("static_model")
        with resources.as_file(folder) as path:
            self._vectors = np.load(path / "vectors.npy", mmap_mode="r", allow_pickle=False)
            self._scales = np.load(path / "scales.npy", allow_pickle=False)
        self._given_threads = threads
        self._threads = thread_count(threads)
        #: BERT's WordPiece, which is also the default tokenizer of terms.
        self.tokenizer: Analyzer = Tokenizer.load(None)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(StaticEncoder, threads=self._given_threads), ()

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._vectors.shape[1])

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, dim) of ``texts`` at unit length; a text without known tokens gets the zero vector."""
        parts = []
        for begin in range(0, len(texts), _TEXTS_AT_A_TIME):
            parts.append(self.average(*self.tokenizer.encode(texts[begin : begin + _TEXTS_AT_A_TIME])))
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), np.float32)

    def average(self, tokens: U32, offsets: U64) -> Floats:
        """Return the vectors of texts that are already tokenized."""
        return _native.average(self._vectors, self._scales, tokens, offsets, self._threads)
