"""MS MARCO passages: ``collection.tsv``, ``queries.SPLIT.tsv`` and ``qrels.SPLIT.tsv``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections.collection import Collection, ids_of
from hi2.evaluation.judgements import Grades, read_grades
from hi2.inputs import Document, find_file, read_lines


class MsMarco(Collection):
    """The passage task as it is distributed (Nguyen et al., 2016); splits such as ``train`` and ``dev.small``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        find_file(folder, "collection.tsv")
        if not self._named("queries"):
            raise invalid("path", "a folder with queries.SPLIT.tsv", f"'{folder}'")

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder looks like one."""
        return any(folder.glob("collection.tsv*"))

    def documents(self) -> Iterator[Document]:
        """Yield every passage."""
        return _rows(find_file(self.folder, "collection.tsv"))

    def queries(self) -> dict[str, str]:
        """Return the questions of every queries file, files in order of their names."""
        found: dict[str, str] = {}
        for path in self._named("queries").values():
            found |= {row.id: row.text for row in _rows(path)}
        return found

    @property
    def splits(self) -> Sequence[str]:
        """The qrels files."""
        return list(self._named("qrels"))

    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Grades:
        """Return the grades of a split."""
        named = self._named("qrels")
        if split not in named:
            raise invalid("split", f"one of {', '.join(named) or 'qrels.SPLIT.tsv'}", f"'{split}'")
        known = None if passages is None else self.queries()
        return read_grades(named[split], queries=known, documents=ids_of(passages))

    def files(self) -> Sequence[Path]:
        """Collection, queries and judgements."""
        collection = find_file(self.folder, "collection.tsv")
        return [collection, *self._named("queries").values(), *self._named("qrels").values()]

    def _named(self, kind: str) -> dict[str, Path]:
        paths = {path.name.removesuffix(".gz").removesuffix(".xz"): path for path in self.folder.glob(f"{kind}.*.tsv*")}
        return {name.removeprefix(f"{kind}.").removesuffix(".tsv"): path for name, path in sorted(paths.items())}


def _rows(path: Path) -> Iterator[Document]:
    for number, line in read_lines(path):
        id, tab, text = line.partition("\t")
        if not tab or not id:
            raise InvalidParameter(f"{path}, line {number}: expected an id, a tab and a text.")
        yield Document(id, text)
