"""Conditions on metadata become filters that an index accepts, or truths."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pytest

import hi2
from hi2.integrations.conditions import Conditions, NotInColumns, all_of, any_of, both, literal, negated, selected
from hi2.integrations.metadata import to_payloads

METADATA = [
    {"n": 1, "s": "it's \\ here", "t": ["a", "b"], "f": [1, 2], "ok": True, "o": {"p": 1}, "e": [], "mixed": 1},
    {"n": 2.5, "s": "", "t": [], "ok": False, "mixed": "1", "a.b": "dotted"},
    {},
]


@pytest.fixture(scope="module")
def index():
    made = hi2.HybridIndex.create(dim=2)
    made.add([[1.0, 0.0]] * 3, ["x"] * 3, ids=["a", "b", "c"], payload=to_payloads(made, METADATA))
    return made


@pytest.fixture(scope="module")
def conditions(index):
    return Conditions(index)


def test_a_column_has_a_kind(conditions):
    kinds = {"n": "number", "s": "str", "t": "tags", "f": "numbers", "ok": "bool", "e": "tags", "none": None}
    assert {name: conditions.kind((name,)) for name in kinds} == kinds
    assert conditions.kind(("o", "p")) == "number"
    assert conditions.kind(("a.b",)) == "str"
    for unknown in ("mixed", "back`quote", "", "\x1f"):
        with pytest.raises(NotInColumns):
            conditions.kind((unknown,))


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (lambda c: c.equal(("n",), 1), "a"),
        (lambda c: c.equal(("n",), "1"), ""),
        (lambda c: c.equal(("n",), None), "c"),
        (lambda c: c.equal(("s",), "it's \\ here"), "a"),
        (lambda c: c.equal(("ok",), True), "a"),
        (lambda c: c.equal(("t",), "a"), ""),
        (lambda c: c.equal(("none",), 1), ""),
        (lambda c: c.equal(("none",), None), "abc"),
        (lambda c: c.equal(("o", "p"), 1), "a"),
        (lambda c: c.equal(("a.b",), "dotted"), "b"),
        (lambda c: negated(c.equal(("n",), 1)), "bc"),
        (lambda c: c.ordered(("n",), ">", 1), "b"),
        (lambda c: c.ordered(("none",), ">", 1), ""),
        (lambda c: c.one_of(("n",), [1, "x", 2.5]), "ab"),
        (lambda c: c.one_of(("n",), [1, None]), "ac"),
        (lambda c: c.one_of(("ok",), [True]), "a"),
        (lambda c: c.one_of(("n",), []), ""),
        (lambda c: c.contains(("t",), "b"), "a"),
        (lambda c: c.contains(("f",), 2), "a"),
        (lambda c: c.contains(("none",), 2), ""),
        (lambda c: c.exists(("t",)), "a"),
        (lambda c: all_of([c.exists(("n",)), c.exists(("f",))]), "a"),
        (lambda c: any_of([c.exists(("none",)), c.exists(("f",))]), "a"),
        (lambda c: any_of([]), ""),
        (lambda c: all_of([]), "abc"),
    ],
)
def test_a_condition_finds_its_documents(index, write, found):
    assert "".join(index.ids(filter=selected(index, write, pytest.fail))) == found


@pytest.mark.parametrize(
    "write",
    [
        lambda c: c.equal(("t",), ["a", "b"]),
        lambda c: c.equal(("ok",), 1),
        lambda c: c.equal(("n",), True),
        lambda c: c.equal(("mixed",), 1),
        lambda c: c.equal(("n",), float("nan")),
        lambda c: c.ordered(("n",), ">", "1"),
        lambda c: c.ordered(("ok",), ">", False),
        lambda c: c.contains(("s",), "here"),
        lambda c: c.one_of(("s",), ["x" * 1000] * 100),
    ],
)
def test_documents_are_read_where_columns_cannot_tell(index, write):
    assert selected(index, write, lambda own: own["id"] == "b") == ["b"]


def test_a_value_that_no_document_can_have_is_refused(conditions):
    with pytest.raises(hi2.InvalidParameter, match=r"'filter'.*number, a string.*Got <object"):
        conditions.equal(("n",), object())


def test_keys_beyond_the_columns_are_read_from_the_documents():
    index = hi2.HybridIndex.create(dim=2)
    metadata = [{f"k{i:03}": i for i in range(300)}]
    index.add([[1.0, 0.0]], ["x"], ids=["a"], payload=to_payloads(index, metadata))
    assert selected(index, lambda c: c.equal(("k299",), 299), lambda own: own["payload"]["k299"] == 299) == ["a"]
    assert selected(index, lambda c: c.equal(("k001",), 1), pytest.fail) == "`k001` == 1"


def test_a_column_that_takes_anything_is_read_from_the_documents():
    index = hi2.HybridIndex.create(dim=2, columns={"free": "other"})
    index.add([[1.0, 0.0]] * 2, ["x"] * 2, ids=["a", "b"], payload=[{"free": 1}, {"free": "1"}])
    found = selected(index, lambda c: c.equal(("free",), "1"), lambda own: own["payload"]["free"] == "1")
    assert found == ["b"]


def test_a_filter_meets_a_list_of_ids(index):
    assert both(index, None, None) is None
    assert both(index, "n exists", None) == "n exists"
    assert both(index, None, ["c"]) == ["c"]
    assert both(index, "n exists", ["c", "b"]) == ["b"]


def test_values_are_spelled_as_the_index_stores_them():
    noon = datetime(2024, 5, 1, 12)
    assert literal(date(2024, 5, 1)) == "'2024-05-01'"
    assert literal(noon) == "'2024-05-01T12:00:00.000000'"
    assert literal(noon.replace(tzinfo=timezone.utc)) == "'2024-05-01T12:00:00.000000Z'"
    assert [literal(own) for own in (True, 2, -2.5, 1e30)] == ["true", "2", "-2.5", "1e+30"]
