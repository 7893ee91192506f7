"""What is a collection? Documents, questions, and judgements by split."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hi2.data.input_files import Document
from hi2.errors import invalid
from hi2.evaluation.judgements import Grades, Judgements, read_grades


class Collection(ABC):
    """Documents and questions in the order of their files. Given vectors have the same order."""

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
        """Return the judgements of a split. Ids are checked against ``passages``, the documents' texts by id."""

    @abstractmethod
    def files(self) -> Sequence[Path]:
        """The files of the collection."""

    def manifest(self) -> dict[str, str]:
        """Return the SHA-256 of every file, so that a result records what it was measured on."""
        return {path.name: sha256(path) for path in self.files()}


class GradedFolder(Collection):
    """A folder with one file of grades per split. The formats differ in their file names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name

    @abstractmethod
    def grade_files(self) -> dict[str, Path]:
        """Return the file of grades by split."""

    @property
    def splits(self) -> Sequence[str]:
        """The splits that have a file of grades."""
        return list(self.grade_files())

    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Grades:
        """Return the grades of a split."""
        files = self.grade_files()
        if split not in files:
            known = f"one of {', '.join(files)}" if files else "judged by a file of grades, but there is none"
            raise invalid("split", f"{known}, in {self.folder}", f"'{split}'")
        if passages is None:
            return read_grades(files[split], queries=None, documents=None)
        return read_grades(files[split], queries=self.queries(), documents=passages)

    def split_files(self, kind: str, ending: str) -> dict[str, Path]:
        """Return the files ``kind.NAME.ending``, plain or compressed, by NAME in sorted order."""
        paths = {plain_name(path): path for path in self.folder.glob(f"{kind}.*{ending}*")}
        return {name.removeprefix(f"{kind}.").removesuffix(ending): path for name, path in sorted(paths.items())}


def plain_name(path: Path) -> str:
    """Return a file's name without .gz or .xz."""
    return path.name.removesuffix(".gz").removesuffix(".xz")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return (
            hashlib.file_digest(file, "sha256").hexdigest()
            if hasattr(hashlib, "file_digest")
            else _sha256_by_blocks(file)
        )


def _sha256_by_blocks(file: object) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):  # type: ignore[attr-defined]
        digest.update(block)
    return digest.hexdigest()
