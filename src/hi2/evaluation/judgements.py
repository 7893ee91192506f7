"""Which documents answer a question? Those graded above 0 in a file, or those that contain an answer."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from hi2.data.input_files import read_lines
from hi2.errors import InvalidParameter


class Judgements(ABC):
    """Which documents are relevant to the questions of one split."""

    @property
    @abstractmethod
    def queries(self) -> Sequence[str]:
        """Ids of the questions with something to find, in order."""

    @abstractmethod
    def gains(self, query: str, ids: Sequence[str]) -> list[int]:
        """Return the grade of each of these documents, 0 if it is not known to be relevant."""

    @abstractmethod
    def ideal(self, query: str) -> list[int]:
        """Return the grades of all relevant documents, best first."""


class Grades(Judgements):
    """Grades by query and document. A grade above 0 means relevant."""

    def __init__(self, grades: Mapping[str, Mapping[str, int]]) -> None:
        self._grades = grades
        self._ideal = {
            query: sorted((grade for grade in own.values() if grade > 0), reverse=True) for query, own in grades.items()
        }

    @property
    def queries(self) -> Sequence[str]:
        """Ids of the questions with a relevant document."""
        return [query for query, ideal in self._ideal.items() if ideal]

    def gains(self, query: str, ids: Sequence[str]) -> list[int]:
        """Return the grades of these documents; a negative grade counts as 0."""
        own = self._grades[query]
        return [max(0, own.get(id, 0)) for id in ids]

    def ideal(self, query: str) -> list[int]:
        """Return the grades above 0, best first."""
        return self._ideal[query]

    def relevant(self, query: str) -> list[str]:
        """Return the ids of the relevant documents."""
        return [id for id, grade in self._grades[query].items() if grade > 0]


class Answers(Judgements):
    """A passage is a hit if it contains one of the question's answers, as in DPR (Karpukhin et al., EMNLP 2020).

    Texts are compared token by token, ignoring case, after Unicode decomposition. The number of passages that answer a
    question is unknown, so one is enough: Recall@k is the share of questions answered within the first k.
    """

    def __init__(self, answers: Mapping[str, Sequence[str]], passages: Mapping[str, str]) -> None:
        self._answers = {query: [answer_tokens(answer) for answer in own] for query, own in answers.items()}
        self._passages = passages

    @property
    def queries(self) -> Sequence[str]:
        """Ids of the questions with an answer."""
        return [query for query, own in self._answers.items() if any(own)]

    def gains(self, query: str, ids: Sequence[str]) -> list[int]:
        """Return 1 for the first passage that contains an answer and 0 for all others."""
        found = False
        gains = []
        for id in ids:
            hit = not found and contains_answer(self._passages[id], self._answers[query])
            found = found or hit
            gains.append(int(hit))
        return gains

    def ideal(self, query: str) -> list[int]:
        """Return one grade, because one passage is enough."""
        return [1]


_ASCII = re.compile(r"[A-Za-z0-9]+|[!-~]")


def answer_tokens(text: str) -> list[str]:
    """Return the tokens that DPR compares: runs of letters, digits and marks; every other visible character alone.

    >>> answer_tokens("Émile Zola's \u201cNana\u201d")
    ['e\u0301mile', 'zola', "'", 's', '\u201c', 'nana', '\u201d']
    """
    text = unicodedata.normalize("NFD", text).lower()
    return _ASCII.findall(text) if text.isascii() else list(_tokens(text))


def _tokens(text: str) -> Iterator[str]:
    word = ""
    for character in text:
        kind = unicodedata.category(character)[0]
        if kind in "LNM":
            word += character
            continue
        if word:
            yield word
        word = ""
        if kind not in "ZC":
            yield character
    if word:
        yield word


def contains_answer(passage: str, answers: Sequence[Sequence[str]]) -> bool:
    """Return whether the passage contains one of the answers, token for token."""
    tokens = answer_tokens(passage)
    for answer in answers:
        n = len(answer)
        if n and any(tokens[i : i + n] == list(answer) for i in range(len(tokens) - n + 1)):
            return True
    return False


def read_grades(path: Path, *, queries: Collection[str] | None, documents: Collection[str] | None) -> Grades:
    """Read judgements: query, document, grade (BEIR, with a header line) or query, 0, document, grade (TREC).

    An id that is not among ``queries`` or ``documents`` is refused. None turns that check off.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, line in read_lines(path):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and not _is_number(fields[-1])):
            continue
        if len(fields) == 4:
            fields = [fields[0], *fields[2:]]
        where = f"{path}, line {number}"
        if len(fields) != 3 or not _is_grade(fields[2]):
            raise InvalidParameter(f"{where}: expected query, document and grade (or query, 0, document and grade).")
        for kind, id, known in (("query", fields[0], queries), ("document", fields[1], documents)):
            if known is not None and id not in known:
                raise InvalidParameter(f"{where}: the {kind} {id!r} does not exist in the collection.")
        grades.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    result = Grades(grades)
    if not result.queries:
        raise InvalidParameter(f"{path}: no question has a relevant document; the split is empty.")
    return result


def _is_grade(field: str) -> bool:
    return re.fullmatch(r"-?[0-9]+", field.strip()) is not None


def _is_number(field: str) -> bool:
    return re.fullmatch(r"[-+.0-9eE]*[0-9][-+.0-9eE]*", field.strip()) is not None
