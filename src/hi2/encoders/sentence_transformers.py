"""Any sentence-transformers model as an encoder; needs the extra ``sentence-transformers``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hi2.errors import MissingExtra, invalid
from hi2.types import Floats


class SentenceTransformerEncoder:
    """Encode with a model from a folder or, where the hub is reached, by its name.

    ``normalise=False`` keeps the lengths of vectors, for models that were trained for inner products.
    """

    def __init__(self, source: str | Path, *, batch_size: int = 64, normalise: bool = True) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(
                "SentenceTransformerEncoder needs an extra; install it with: pip install 'hi2[sentence-transformers]'"
            ) from error
        try:
            self._model: Any = SentenceTransformer(str(source))
        except Exception as error:
            must = "the folder of a sentence-transformers model, or a name where the hub is reached"
            raise invalid("source", must, f"'{source}' ({error})") from error
        #: Where the model came from; a folder in full, so that an index finds it from anywhere.
        self.source = str(Path(source).resolve() if Path(source).is_dir() else source)
        self._batch_size, self._normalise = batch_size, normalise

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, dim) of ``texts``, at unit length unless told otherwise."""
        vectors: Floats = self._model.encode(
            list(texts), batch_size=self._batch_size, normalize_embeddings=self._normalise, show_progress_bar=False
        )
        return vectors
