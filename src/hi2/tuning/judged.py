"""What should each query find? Ids that are relevant to it, or grades of documents by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from hi2.arguments import real
from hi2.data.given_array import entries
from hi2.data.ids import check_id
from hi2.errors import described, invalid
from hi2.types import Id

Relevant = Sequence[Id] | Set[Id] | Mapping[Id, float]
#: Grades of relevant documents by id.
Grades = dict[Id, float]

_MUST = "one list of ids per query, or one mapping from ids to grades"
_LARGEST_GRADE = 1e9


def read_relevant(given: Sequence[Relevant], n_queries: int) -> list[Grades]:
    """Return the documents that are relevant to each query, by id. A listed id has grade 1; others must be above 0."""
    rows = list(entries(given, name="relevant", must=_MUST))
    if len(rows) != n_queries:
        raise invalid("relevant", f"{_MUST} ({n_queries} queries)", len(rows))
    return [_grades(row, own) for row, own in enumerate(rows)]


def _grades(row: int, given: Any) -> Grades:
    if isinstance(given, Mapping):
        grades = {
            check_id(id, name="relevant"): real("relevant", grade, low=-_LARGEST_GRADE, high=_LARGEST_GRADE)
            for id, grade in given.items()
        }
        return {id: grade for id, grade in grades.items() if grade > 0}
    if isinstance(given, str) or not isinstance(given, (Sequence, Set, np.ndarray)):
        raise invalid("relevant", _MUST, f"{described(given)} in row {row}")
    return {check_id(id, name="relevant"): 1.0 for id in given}
