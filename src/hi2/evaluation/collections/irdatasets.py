"""Any collection that ir_datasets knows, by its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hi2.errors import InvalidParameter, MissingExtra, invalid
from hi2.evaluation.collections.collection import Collection
from hi2.evaluation.judgements import Grades
from hi2.inputs import Document


class IrDataset(Collection):
    """``ir_datasets.load(id)``; its only split is the dataset's own. Files are where ir_datasets keeps them."""

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
        self._split = id.rsplit("/", 1)[-1]
        if not (self._data.has_docs() and self._data.has_queries()):
            raise invalid("data", "a dataset with documents and queries", repr(id))

    def documents(self) -> Iterator[Document]:
        """Yield every document's default text."""
        for document in self._data.docs_iter():
            yield Document(str(document.doc_id), " ".join(document.default_text().split()))

    def queries(self) -> dict[str, str]:
        """Return every query's default text."""
        return {str(query.query_id): query.default_text() for query in self._data.queries_iter()}

    @property
    def splits(self) -> Sequence[str]:
        """The last part of the id, where there are judgements."""
        return [self._split] if self._data.has_qrels() else []

    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Grades:
        """Return the grades."""
        if split not in self.splits:
            raise invalid("split", f"one of {', '.join(self.splits) or 'none'}", f"'{split}'")
        grades: dict[str, dict[str, int]] = {}
        for row, line in enumerate(self._data.qrels_iter(), 1):
            if passages is not None and str(line.doc_id) not in passages:
                raise InvalidParameter(f"{self.name}, judgement {row}: the document {line.doc_id!r} does not exist.")
            grades.setdefault(str(line.query_id), {})[str(line.doc_id)] = int(line.relevance)
        return Grades(grades)

    def files(self) -> Sequence[Path]:
        """None that a checksum could be kept of."""
        return []
