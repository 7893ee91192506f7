"""What is a collection? Documents, questions, and judgements by split."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hi2.evaluation.judgements import Judgements
from hi2.inputs import Document


class Collection(ABC):
    """Documents and questions in the order of their files, which is the order of given vectors too."""

    name: str

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Yield every document, one at a time."""

    @abstractmethod
    def queries(self) -> dict[str, str]:
        """Return the text of every question, by id."""

    @property
    @abstractmethod
    def splits(self) -> Sequence[str]:
        """The splits that have judgements."""

    @abstractmethod
    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Judgements:
        """Return what is known of a split; ids are checked against ``passages``, the documents' texts by id."""

    @abstractmethod
    def files(self) -> Sequence[Path]:
        """The files it is made of."""

    def manifest(self) -> dict[str, str]:
        """Return the SHA-256 of every file, for a result to say what it was measured on."""
        return {path.name: sha256(path) for path in self.files()}


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file: object) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):  # type: ignore[attr-defined]
        digest.update(block)
    return digest.hexdigest()


def ids_of(known: Mapping[str, str] | None) -> Container[str] | None:
    """Return the ids to check against, None for no check."""
    return None if known is None else known.keys()
