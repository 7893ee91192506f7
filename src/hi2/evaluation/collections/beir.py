"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``, each perhaps ``.gz`` or ``.xz``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hi2.errors import invalid
from hi2.evaluation.collections.collection import Collection, ids_of
from hi2.evaluation.judgements import Grades, read_grades
from hi2.inputs import Document, find_file, read_documents, read_queries


class Beir(Collection):
    """A folder in the layout of BEIR (Thakur et al., NeurIPS 2021)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        for name in ("corpus.jsonl", "queries.jsonl"):
            find_file(folder, name)
        self._queries: dict[str, str] | None = None

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder looks like one."""
        return any(folder.glob("corpus.jsonl*"))

    def documents(self) -> Iterator[Document]:
        """Yield every document; the text is title and text with a space between."""
        return read_documents(self.folder)

    def queries(self) -> dict[str, str]:
        """Return the text of every question, in order of the file."""
        if self._queries is None:
            self._queries = {query.id: query.text for query in read_queries(self.folder)}
        return self._queries

    @property
    def splits(self) -> Sequence[str]:
        """The files under qrels/."""
        names = (path.name.removesuffix(".gz").removesuffix(".xz") for path in (self.folder / "qrels").glob("*.tsv*"))
        return sorted(name.removesuffix(".tsv") for name in names)

    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Grades:
        """Return the grades of a split."""
        if split not in self.splits:
            raise invalid("split", f"one of {', '.join(self.splits) or 'qrels/SPLIT.tsv'}", f"'{split}'")
        path = find_file(self.folder, f"qrels/{split}.tsv")
        return read_grades(path, queries=None if passages is None else self.queries(), documents=ids_of(passages))

    def files(self) -> Sequence[Path]:
        """Corpus, queries and judgements."""
        named = [find_file(self.folder, name) for name in ("corpus.jsonl", "queries.jsonl")]
        return [*named, *(find_file(self.folder, f"qrels/{split}.tsv") for split in self.splits)]
