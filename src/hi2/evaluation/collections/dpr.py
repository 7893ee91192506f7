"""Natural Questions as DPR distributes it: ``psgs_w100.tsv`` and files of questions with their answers."""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hi2.data.input_files import Document, find_file, read_lines
from hi2.errors import InvalidParameter, invalid
from hi2.evaluation.collections.collection import Collection, plain_name
from hi2.evaluation.judgements import Answers


class Dpr(Collection):
    """Titled passages, and questions in ``nq-SPLIT.qa.csv`` (question, tab, list of answers) or ``nq-SPLIT.jsonl``.

    The id of a question is its split and line number. A passage is a hit if it contains an answer.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        find_file(folder, "psgs_w100.tsv")
        if not self._questions():
            raise invalid("path", "a folder with nq-SPLIT.qa.csv or nq-SPLIT.jsonl", f"'{folder}'")

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return any(folder.glob("psgs_w100.tsv*"))

    def documents(self) -> Iterator[Document]:
        """Yield every passage: its title, then its text."""
        for id, text, title in self._passages():
            yield Document(id, f"{title} {text}".strip())

    def _passages(self) -> Iterator[tuple[str, str, str]]:
        path = find_file(self.folder, "psgs_w100.tsv")
        for number, line in read_lines(path):
            fields = next(csv.reader(io.StringIO(line), delimiter="\t"), [])
            if number == 1 and fields[:1] == ["id"]:
                continue
            if len(fields) != 3:
                raise InvalidParameter(f"{path}, line {number}: expected id, text and title between tabs.")
            yield fields[0], fields[1], fields[2]

    def queries(self) -> dict[str, str]:
        """Return the questions of every split, splits sorted by name."""
        return {id: text for split in self.splits for id, text, _ in self._rows(split)}

    @property
    def splits(self) -> Sequence[str]:
        """The splits that have a file of questions."""
        return list(self._questions())

    def judgements(self, split: str, *, passages: Mapping[str, str] | None = None) -> Answers:
        """Return the answers of a split. As in DPR, answers are looked for in the texts, not in the titles."""
        if split not in self.splits:
            raise invalid("split", f"one of {', '.join(self.splits)}", f"'{split}'")
        texts = {id: text for id, text, _ in self._passages()}
        return Answers({id: answers for id, _, answers in self._rows(split)}, texts)

    def files(self) -> Sequence[Path]:
        """The files of the passages and questions."""
        return [find_file(self.folder, "psgs_w100.tsv"), *self._questions().values()]

    def _questions(self) -> dict[str, Path]:
        found = {}
        for ending in (".qa.csv", ".jsonl"):
            for path in self.folder.glob(f"nq-*{ending}*"):
                name = plain_name(path).removesuffix(ending)
                found[name.removeprefix("nq-")] = path
        return dict(sorted(found.items()))

    def _rows(self, split: str) -> Iterator[tuple[str, str, list[str]]]:
        path = self._questions()[split]
        for number, line in read_lines(path):
            question, answers = _question(line) if ".jsonl" in path.name else _tabbed(line)
            if question is None or not isinstance(answers, list) or not all(isinstance(a, str) for a in answers):
                raise InvalidParameter(f"{path}, line {number}: expected a question and a list of answers.")
            yield f"{split}-{number}", question, answers


def _question(line: str) -> tuple[str | None, object]:
    try:
        data = json.loads(line)
    except ValueError:
        return None, None
    return (data.get("question"), data.get("answer")) if isinstance(data, dict) else (None, None)


def _tabbed(line: str) -> tuple[str | None, object]:
    fields = next(csv.reader(io.StringIO(line), delimiter="\t"), [])
    try:
        return (fields[0] if len(fields) == 2 else None), ast.literal_eval(fields[-1])
    except (ValueError, SyntaxError, IndexError):
        return None, None
