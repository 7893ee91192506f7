"""Any sentence-transformers model as an encoder; needs the extra ``sentence-transformers``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hi2.encoders.model_files import check_plain, local_folder
from hi2.errors import InvalidParameter, MissingExtra, invalid
from hi2.types import Floats


class SentenceTransformerEncoder:
    """Encode with a model from a folder or a hub name; a model that brings its own code or pickled weights is refused.

    ``normalise=False`` keeps the lengths of vectors, for models trained for inner product.
    """

    def __init__(self, source: str | Path, *, batch_size: int = 64, normalise: bool = True) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(
                "SentenceTransformerEncoder needs an extra; install it with: pip install 'hi2[sentence-transformers]'"
            ) from error
        try:
            folder = local_folder(source)
            check_plain(folder)
            self._model: Any = SentenceTransformer(
                str(folder), trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
        except InvalidParameter:
            raise
        except Exception as error:
            must = "the folder of a sentence-transformers model, or a name where the hub is reached"
            raise invalid("source", must, f"'{source}' ({error})") from error
        #: Where the model was loaded from; a folder as an absolute path, so that an index can find it from anywhere.
        self.source = str(Path(source).resolve() if Path(source).is_dir() else source)
        self._batch_size, self._normalise = batch_size, normalise

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return the vectors (n, dim) of ``texts``, at unit length unless ``normalise=False``."""
        vectors: Floats = self._model.encode(
            list(texts), batch_size=self._batch_size, normalize_embeddings=self._normalise, show_progress_bar=False
        )
        return vectors
