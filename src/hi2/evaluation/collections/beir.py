"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``, plain or as ``.gz`` or ``.xz``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hi2.data.input_files import Document, find_file, read_documents, read_queries
from hi2.evaluation.collections.collection import GradedFolder, plain_name


class Beir(GradedFolder):
    """A folder in the layout of BEIR (Thakur et al., NeurIPS 2021)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("corpus.jsonl", "queries.jsonl"):
            find_file(folder, name)
        self._queries: dict[str, str] | None = None

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return any(folder.glob("corpus.jsonl*"))

    def documents(self) -> Iterator[Document]:
        """Yield every document. Its text is the title, a space and the text."""
        return read_documents(self.folder)

    def queries(self) -> dict[str, str]:
        """Return the text of every question, in the order of the file."""
        if self._queries is None:
            self._queries = {query.id: query.text for query in read_queries(self.folder)}
        return self._queries

    def grade_files(self) -> dict[str, Path]:
        """Return the files under qrels/ by split."""
        paths = sorted((self.folder / "qrels").glob("*.tsv*"))
        return {plain_name(path).removesuffix(".tsv"): path for path in paths}

    def files(self) -> Sequence[Path]:
        """The files of the corpus, queries and judgements."""
        named = [find_file(self.folder, name) for name in ("corpus.jsonl", "queries.jsonl")]
        return [*named, *self.grade_files().values()]
