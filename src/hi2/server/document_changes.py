"""What does storing documents mean? Vectors as given, from the encoder, or none: then words alone find a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hi2.errors import Error, InvalidParameter
from hi2.index import HybridIndex
from hi2.server.change_queue import Apply
from hi2.server.schema import Document


def upsert(documents: Sequence[Document]) -> Apply:
    """Return the change that stores documents: with vectors, or as texts for the encoder or for words alone."""

    def apply(index: HybridIndex) -> int:
        vectors = [own.vector for own in documents]
        texts = [own.text for own in documents]
        if any(text is None for text in texts) and any(text is not None for text in texts):
            texts = ["" if text is None else text for text in texts]
        encoder = _encoder(index) if any(vector is None for vector in vectors) else None
        if encoder is not None:
            missing = [i for i, vector in enumerate(vectors) if vector is None and texts[i]]
            made = encoder([str(texts[i]) for i in missing]) if missing else []
            for i, vector in zip(missing, made, strict=True):
                vectors[i] = vector
        index.upsert(
            None if all(vector is None for vector in vectors) else vectors,
            None if all(text is None for text in texts) else texts,  # type: ignore[arg-type]
            ids=[own.id for own in documents],
            payload=[own.payload for own in documents],
        )
        return len(documents)

    return apply


def _encoder(index: HybridIndex) -> Any:
    try:
        return index.encoder
    except Error as error:  # its text names files of this machine
        raise InvalidParameter("The encoder of this collection is not on this server. Send vectors.") from error
