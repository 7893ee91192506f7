"""What does deleting documents do? Their segments get new alive bits; nothing is rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hi2.changes.open_index import OpenIndex
from hi2.data.given_array import entries
from hi2.data.ids import check_id
from hi2.errors import InvalidParameter, invalid
from hi2.search.selection import places
from hi2.state.index_state import State
from hi2.state.snapshot import Place
from hi2.types import Id


def delete(index: OpenIndex, ids: Id | Sequence[Id] | None, *, filter: Any, missing_ok: bool) -> int:
    """Delete documents, by id or those that pass a filter, and return how many.

    An unknown id is refused, or skipped with ``missing_ok``.
    """
    if (ids is None) == (filter is None):
        raise InvalidParameter("Either the 'ids' or the 'filter' parameter must be given: it says what is deleted.")
    if filter is not None:
        with index.changing() as state:
            found = places(state.snapshot, filter)
            index.state = without(state, found)
            return len(found)
    single = isinstance(ids, (str, int, np.integer))
    given = [ids] if single else entries(ids, name="ids", must="an id or a list of ids")
    wanted = list(dict.fromkeys(check_id(id, name="ids") for id in given))
    with index.changing() as state:
        where = state.snapshot.find_checked(wanted)
        for id, place in zip(wanted, where, strict=True):
            if place is None and not missing_ok:
                raise invalid("ids", "in the index, or missing_ok=True", repr(id))
        found = [place for place in where if place is not None]
        index.state = without(state, found)
        return len(found)


def without(state: State, places: Sequence[Place]) -> State:
    """Return the state without some documents."""
    return replace(state, snapshot=state.snapshot.without(places)) if places else state
