"""Which questions are for what? A file lists them: dev to choose on, test to look at, final to report once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hi2.errors import InvalidParameter, invalid

NAMES = ("dev", "test", "final")


@dataclass(frozen=True)
class QuestionList:
    """Ids of questions that are judged in one split."""

    name: str
    split: str
    ids: Sequence[str]
    path: Path

    def __str__(self) -> str:
        return f"the {self.name} list of {self.path.name}"

    def check_judged(self, judged: Sequence[str]) -> None:
        """Refuse an id that is not among the judged questions of the list's split."""
        known = set(judged)
        unknown = [id for id in self.ids if id not in known]
        if unknown:
            raise InvalidParameter(
                f"{self.path}: the {self.name} question {unknown[0]!r} is not judged in the split {self.split!r} of "
                f"the collection ({len(unknown)} such ids); give the lists of this collection."
            )


@dataclass(frozen=True)
class QuestionLists:
    """The lists of one collection. Settings are chosen on ``dev``; ``final`` may be missing."""

    path: Path
    lists: Mapping[str, QuestionList]

    @property
    def dev(self) -> QuestionList:
        """The questions that settings are chosen on."""
        return self.lists["dev"]

    def reported(self, *, final: bool) -> QuestionList:
        """Return the test list, or the final one. It is refused if the file has no final questions."""
        if final and "final" not in self.lists:
            raise invalid("--final", "left out: these lists have no final questions", f"'{self.path}'")
        return self.lists["final" if final else "test"]


def reported_list(source: Path | None, collection: str, split: str, *, final: bool) -> QuestionList | None:
    """Return the list to report, None without lists. A split that is not the list's is refused."""
    if source is None:
        if final:
            raise invalid("--final", "used with --questions, a file of lists that has final questions", "no lists")
        return None
    lists = read_question_lists(source, collection)
    listed = lists.reported(final=final)
    if split not in ("test", listed.split):
        raise invalid("--split", f"left out, or {listed.split} as in {lists.path.name}", f"'{split}'")
    return listed


def read_question_lists(source: Path, collection: str) -> QuestionLists:
    """Read the lists in a file, or in the file of a folder that is named after the collection."""
    path = source / f"{collection}.json" if source.is_dir() else source
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        must = f"a file of question lists, or a folder with {collection}.json"
        raise invalid("--questions", must, f"'{path}' ({error.strerror})") from error
    except ValueError as error:
        raise InvalidParameter(f"{path}: not JSON ({error}).") from error
    if not isinstance(data, dict) or not {"dev", "test"} <= set(data) <= set(NAMES):
        raise InvalidParameter(f"{path}: expected an object with the lists dev and test, and final or not.")
    lists = {name: _read_list(path, name, data[name]) for name in NAMES if name in data}
    owner: dict[str, str] = {}
    for name, own in lists.items():
        for id in own.ids:
            if id in owner:
                where = f"twice in {name}" if owner[id] == name else f"in {owner[id]} and in {name}"
                raise InvalidParameter(f"{path}: the question {id!r} is {where}; a question is for one purpose.")
            owner[id] = name
    return QuestionLists(path, lists)


def _read_list(path: Path, name: str, given: Any) -> QuestionList:
    ids = given.get("ids") if isinstance(given, dict) else None
    split = given.get("split") if isinstance(given, dict) else None
    if not isinstance(split, str) or not isinstance(ids, list) or not all(isinstance(id, str) for id in ids) or not ids:
        raise InvalidParameter(f"{path}: expected {name} to have a split, and ids that are a list of strings.")
    return QuestionList(name, split, ids, path)
