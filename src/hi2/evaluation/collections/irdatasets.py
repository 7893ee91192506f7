"""Any collection of ir_datasets, by its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hi2.data.input_files import Document
from hi2.errors import InvalidParameter, MissingExtra, invalid
from hi2.evaluation.collections.collection import Collection
from hi2.evaluation.judgements import Grades

#: Splits that are looked for next to the one in the id.
SIBLING_SPLITS = ("train", "dev", "test")


class IrDataset(Collection):
    """``ir_datasets.load(id)``: the split in the id and its siblings. ir_datasets decides where the files are kept."""

    def __init__(self, id: str) -> None:
        try:
            import ir_datasets
        except ImportError as error:
            raise MissingExtra("ir_datasets needs an extra; install it with: pip install 'hi2[lab]'") from error
        try:
            self._data: Any = ir_datasets.load(id)
        except KeyError as error:
            raise invalid("data", "a folder, or an id that ir_datasets knows", repr(id)) from error
        self.name = id.replace("/", "-")
        parent, _, split = id.rpartition("/")
        if not (self._data.has_docs() and self._data.has_queries()):
            raise invalid("data", "a dataset with documents and queries", repr(id))
        self._splits: dict[str, Any] = {split: self._data} if self._data.has_qrels() else {}
        for name in SIBLING_SPLITS if parent else ():
            try:
                beside = ir_datasets.load(f"{parent}/{name}")
            except KeyError:
                continue
            if name != split and beside.has_queries() and beside.has_qrels():
                self._splits[name] = beside

    @classmethod
    def knows(cls, id: str) -> bool:
        """Return whether ir_datasets has a dataset with this id."""
        try:
            import ir_datasets

            ir_datasets.load(id)
        except (ImportError, KeyError):
            return False
        return True

    def documents(self) -> Iterator[Document]:
        """Yield the default text of every document."""
        for document in self._data.docs_iter():
            yield Document(str(document.doc_id), " ".join(document.default_text().split()))

    def queries(self) -> dict[str, str]:
        """Return the default text of every query, split by split."""
        found: dict[str, str] = {}
        for data in [self._data, *self._splits.values()]:
            found |= {str(query.query_id): query.default_text() for query in data.queries_iter()}
        return found

    @property
    def splits(self) -> Sequence[str]:
        """The split in the id and its siblings, if they have judgements."""
        return list(self._splits)

    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Grades:
        """Return the grades of a split."""
        if split not in self._splits:
            raise invalid("split", f"one of {', '.join(self.splits) or 'none'}", f"'{split}'")
        queries = {str(query.query_id) for query in self._splits[split].queries_iter()}
        grades: dict[str, dict[str, int]] = {}
        for row, line in enumerate(self._splits[split].qrels_iter(), 1):
            where = f"{self.name}, judgement {row} of {split}"
            if passages is not None and str(line.doc_id) not in passages:
                raise InvalidParameter(f"{where}: the document {line.doc_id!r} does not exist.")
            if str(line.query_id) not in queries:
                raise InvalidParameter(f"{where}: the query {line.query_id!r} does not exist.")
            grades.setdefault(str(line.query_id), {})[str(line.doc_id)] = int(line.relevance)
        result = Grades(grades)
        if not result.queries:
            raise InvalidParameter(f"{self.name}, {split}: no question has a relevant document; the split is empty.")
        return result

    def files(self) -> Sequence[Path]:
        """Empty: ir_datasets does not say which files it reads."""
        return []
