"""MS MARCO passages: ``collection.tsv``, ``queries.SPLIT.tsv`` and ``qrels.SPLIT.tsv``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hi2.data.input_files import Document, find_file, read_lines
from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections.collection import GradedFolder


class MsMarco(GradedFolder):
    """The passage ranking task (Nguyen et al., 2016), with splits such as ``train`` and ``dev.small``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        find_file(folder, "collection.tsv")
        if not self.split_files("queries", ".tsv"):
            raise invalid("path", "a folder with queries.SPLIT.tsv", f"'{folder}'")

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return any(folder.glob("collection.tsv*"))

    def documents(self) -> Iterator[Document]:
        """Yield every passage."""
        return _rows(find_file(self.folder, "collection.tsv"))

    def queries(self) -> dict[str, str]:
        """Return the questions of every queries file, files sorted by name."""
        found: dict[str, str] = {}
        for path in self.split_files("queries", ".tsv").values():
            found |= {row.id: row.text for row in _rows(path)}
        return found

    def grade_files(self) -> dict[str, Path]:
        """Return the qrels files by split."""
        return self.split_files("qrels", ".tsv")

    def files(self) -> Sequence[Path]:
        """The files of the collection, queries and judgements."""
        collection = find_file(self.folder, "collection.tsv")
        return [collection, *self.split_files("queries", ".tsv").values(), *self.grade_files().values()]


def _rows(path: Path) -> Iterator[Document]:
    for number, line in read_lines(path):
        id, tab, text = line.partition("\t")
        if not tab or not id:
            raise InvalidParameter(f"{path}, line {number}: expected an id, a tab and a text.")
        yield Document(id, text)
