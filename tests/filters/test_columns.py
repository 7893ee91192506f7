"""The payload is stored as typed columns, and read back as it was given."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
import hi2.filters.parser
from hi2.errors import InvalidParameter
from hi2.filters.columns import MAX_COLUMNS, MAX_KNOWN_KEYS, Columns, kind_of, plain
from payloads import FREE, payload_of
from work import instructions

VECTORS = np.eye(3, dtype=np.float32)
TEXTS = ["one", "two", "three"]


def test_columns_on_disk_equal_those_of_the_stored_payload(tmp_path):
    vectors, texts = np.random.default_rng(5).standard_normal((300, 24)), [f"word{i % 50}" for i in range(300)]
    payload = [payload_of(i) for i in range(300)]
    index = hi2.HybridIndex.build(vectors, texts, payload=payload, columns=FREE, progress=False)
    index.save(tmp_path / "a.hi2")
    made = index._index.state.snapshot.segments[0].segment
    read = hi2.HybridIndex.open(tmp_path / "a.hi2")._index.state.snapshot.segments[0].segment
    docs = np.empty(300, np.int64)
    docs[made.rows] = np.arange(300)
    again = Columns.of_lines(made.stored_column().rows(), docs)
    assert list(read.columns.by_name) == list(again.by_name)
    assert set(read.columns.by_name) == set(payload[1])
    for name, column in read.columns.by_name.items():
        assert column.kind == again.by_name[name].kind
        np.testing.assert_array_equal(column.values, again.by_name[name].values)
        assert list(column.words) == list(again.by_name[name].words)


def test_dates_are_stored_as_text_that_sorts_by_time():
    moments = [date(2024, 1, 31), datetime(2024, 1, 31, 10, 5), datetime(2024, 2, 1, tzinfo=timezone.utc)]
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[{"at": own} for own in moments], progress=False)
    stored = [own["payload"]["at"] for own in index.get([0, 1, 2])]
    assert stored == ["2024-01-31", "2024-01-31T10:05:00.000000", "2024-02-01T00:00:00.000000Z"]
    assert index.search(VECTORS[0], filter=hi2.column("at") >= date(2024, 2, 1)).ids.tolist() == [2]


def test_datetimes_sort_by_time():
    first = datetime(2020, 1, 1, tzinfo=timezone.utc)
    moments = [first, first + timedelta(microseconds=5), np.datetime64("2019-12-31")]
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[{"at": own} for own in moments], progress=False)
    assert index.search(VECTORS[0], filter=hi2.column("at") > first).ids.tolist() == [1]
    assert index.search(VECTORS[0], filter=hi2.column("at") < np.datetime64("2020-01-01T00:00:00")).ids.tolist() == [2]


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
PAYLOADS = st.dictionaries(st.sampled_from("ab"), VALUES | st.lists(st.text(max_size=3), max_size=3))


@settings(max_examples=80, deadline=None)
@given(st.lists(PAYLOADS, min_size=1, max_size=12))
def test_the_columns_of_any_payload_can_be_read_back(rows):
    docs = np.random.default_rng(0).permutation(len(rows))
    columns = Columns.of_lines([json.dumps({"payload": own}).encode() for own in rows], docs)
    again = Columns.read(columns.arrays(), len(rows))
    for name, column in again.by_name.items():
        if column.kind in ("other", "tags"):
            continue
        for row, own in enumerate(rows):
            expected = own.get(name) if own.get(name) != [] else None
            found = column.value(int(docs[row]))
            assert found == (float(expected) if column.kind == "float" and expected is not None else expected)


def numbered(begin, end):
    return {f"k{i}": i for i in range(begin, end)}


def test_a_key_beyond_the_first_256_is_stored_but_is_no_column(tmp_path):
    payload = [{**numbered(0, 1500), "nested": [{}]}, {"k299": 1}]
    hi2.HybridIndex.build(VECTORS[:2], TEXTS[:2], payload=payload, path=tmp_path / "a", progress=False).close()
    index = hi2.HybridIndex.open(tmp_path / "a")
    assert index.get(0)["payload"] == payload[0]
    assert index.search(VECTORS[0], filter="k255 == 255").ids.tolist() == [0]
    for call in (
        {"filter": "k299 == 1"},
        {"filter": "k256 exists"},
        {"filter": "not k1499 in (1, 2)"},
        {"filter": "nested exists"},
        {"group_by": "k299"},
    ):
        with pytest.raises(InvalidParameter, match=r"only the first 256 keys.*Got '\w+', which is not one of them"):
            index.search(VECTORS[0], **call)
    with pytest.raises(InvalidParameter, match=r"over columns of the payload \(k0, k1, k10, .* and 226 more\)"):
        index.search(VECTORS[0], filter="nobody == 1")
    columns = [path for path in (tmp_path / "a").rglob("column*") if path.suffix == ".npy"]
    assert len(columns) == MAX_COLUMNS
    index.verify()


def test_keys_of_several_types_take_no_file():
    columns = Columns.of_lines(
        [b'{"payload": {"a": 1, "b": [{}], "c": "x"}}', b'{"payload": {"a": "x"}}'], np.arange(2)
    )
    assert set(columns.arrays()) == {"columns.json", "column_2.npy", "column_2_ends.npy", "column_2_words.npy"}
    again = Columns.read(columns.arrays(), 2)
    assert [(own.name, own.kind) for own in again.by_name.values()] == [("a", "other"), ("b", "other"), ("c", "str")]


def test_a_key_that_is_a_column_in_one_segment_only_is_refused(tmp_path):
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[numbered(0, 200)] * 3, progress=False, path=tmp_path / "a")
    index.add(VECTORS[:1], TEXTS[:1], payload=[{**numbered(200, 456), "k7": 1, "k456": 2}])
    assert len(index._index.state.snapshot.segments) == 2
    assert sorted(index.search(VECTORS[0], filter="k300 == 300 or k8 == 8").ids.tolist()) == [0, 1, 2, 3]
    for name in ("k7", "k456"):
        for call in ({"filter": f"{name} >= 0"}, {"group_by": name}):
            with pytest.raises(InvalidParameter, match=f"Got '{name}', which is not one of them"):
                index.search(VECTORS[0], **call)


def test_a_merge_keeps_all_columns_unless_there_are_too_many():
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[numbered(0, 200)] * 3, progress=False)
    index.add(VECTORS[:1], TEXTS[:1], payload=[numbered(190, 256)])
    index.merge()
    (live,) = index._index.state.snapshot.segments
    assert list(live.segment.columns.by_name) == list(numbered(0, 256))
    assert index.search(VECTORS[0], filter="k199 == 199 and k255 exists").ids.tolist() == [3]
    index.add(VECTORS[:1], TEXTS[:1], payload=[numbered(250, 258)])
    index.merge()
    (live,) = index._index.state.snapshot.segments
    assert list(live.segment.columns.by_name) == list(numbered(0, 256))
    assert live.segment.columns.beyond == ("k256", "k257")


def test_of_very_many_keys_only_some_are_known_by_name():
    rows = [numbered(begin, begin + 50) for begin in range(0, 20_000, 50)]
    columns = Columns.of_payloads(rows, np.arange(len(rows)))
    last = MAX_COLUMNS + MAX_KNOWN_KEYS
    assert (len(columns.by_name), columns.more) == (MAX_COLUMNS, True)
    assert columns.beyond == tuple(numbered(MAX_COLUMNS, last))
    again = Columns.read(columns.arrays(), len(rows))
    assert (again.beyond, again.more) == (columns.beyond, True)
    for name in (f"k{last - 1}", f"k{last}", "nobody"):  # which of the last two has values is not known
        with pytest.raises(InvalidParameter, match=r"the first 256 keys"):
            again.find(name, "filter")
    exactly = Columns.of_payloads([numbered(0, last)], np.arange(1))
    assert (len(exactly.beyond), exactly.more) == (MAX_KNOWN_KEYS, False)
    assert exactly.find("nobody", "filter") is None


def test_columns_of_format_version_1_are_read():
    """That version lists every key, and has an empty array for those that cannot be filtered on."""
    rows = [{**numbered(0, 255), "odd": [{}], "later": 1, "last": 2}]
    columns = Columns.of_payloads(rows, np.arange(1))
    stored = columns.arrays()
    listed = [*json.loads(stored["columns.json"].tobytes())["columns"]]
    listed += [{"name": name, "kind": "other"} for name in ("later", "last")]
    stored["columns.json"] = np.frombuffer(json.dumps(listed).encode(), np.uint8)
    for number in (255, 256, 257):
        stored[f"column_{number}.npy"] = np.zeros(0, np.uint8)
    again = Columns.read(stored, 1)
    assert list(again.by_name) == [*numbered(0, 255), "odd"]
    assert (again.beyond, again.more) == (("later", "last"), False)
    assert again.by_name["k254"].value(0) == 254
    listed += [{"name": f"x{i}", "kind": "other"} for i in range(MAX_KNOWN_KEYS)]
    stored["columns.json"] = np.frombuffer(json.dumps(listed).encode(), np.uint8)
    assert Columns.read(stored, 1).more


def test_odd_keys_are_stored_and_can_be_filtered_on(tmp_path):
    odd = ["", "a`b", "\0", "__proto__", "a\nb", "x" * 100_000, "\u202e", "null", "'", "in", "1", " "]
    payload = [dict.fromkeys(odd, i) for i in range(3)]
    hi2.HybridIndex.build(VECTORS, TEXTS, payload=payload, progress=False).save(tmp_path / "a")
    index = hi2.HybridIndex.open(tmp_path / "a")
    index.verify()
    assert [own["payload"] for own in index.get([0, 1, 2])] == payload
    for name in odd[2:]:
        assert index.search(VECTORS[0], filter=hi2.column(name) == 1).ids.tolist() == [1]
        if len(name) < 1000:
            assert index.search(VECTORS[0], filter=f"`{name}` == 2").ids.tolist() == [2]
    assert index.search(VECTORS[0], group_by="", k=3).groups.tolist() == [0, 1, 2]
    with pytest.raises(InvalidParameter, match="over columns of the payload") as caught:
        index.search(VECTORS[0], filter="nobody == 1")
    assert len(str(caught.value)) < 1000


def test_keys_beyond_the_columns_cost_little():
    def work(n_keys):
        lines = [json.dumps({"payload": {f"k{j}": j for j in range(n_keys)}}).encode() for _ in range(20)]
        return instructions(lambda: Columns.of_lines(lines, np.arange(len(lines))))

    columns, many = work(MAX_COLUMNS), work(1500)
    assert many < 3 * columns


def test_an_integer_too_large_for_a_column_is_stored():
    index = hi2.HybridIndex.build(VECTORS[:2], TEXTS[:2], payload=[{"x": 10**400}, {"x": 2 * 10**400}], progress=False)
    assert index.get(0)["payload"] == {"x": 10**400}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (3, "int"),
        (2**63, "float"),
        (-(2**63), "float"),  # this integer stands for no value
        (10**400, "other"),
        (0.5, "float"),
        ("a", "str"),
        ([], "tags"),
        (["a", "b"], "tags"),
        (["a", 1], "other"),
        ({}, "other"),
    ],
)
def test_the_kind_of_a_value_is_the_kind_of_its_column(value, kind):
    assert kind_of(value) == kind


def columns_of(*values):
    lines = [json.dumps({"payload": {"a": value}}).encode() for value in values]
    return Columns.of_lines(lines, np.arange(len(values)))


def test_integers_and_floats_mix_and_other_kinds_do_not():
    assert columns_of(1, 2.5, None, 3).by_name["a"].values.tolist()[:2] == [1.0, 2.5]
    assert columns_of(2.5, 1).by_name["a"].kind == "float"
    for values in ((1, "a"), (True, 1), ("a", ["a"]), (1, [{}]), ([1], ["a"])):
        assert columns_of(*values).by_name["a"].kind == "other"
    assert not columns_of(None, None).by_name


def test_grouping_by_tags_is_refused():
    column = columns_of(["a"]).by_name["a"]
    with pytest.raises(InvalidParameter, match="'a' is tags"):
        column.value(0)
    assert columns_of("x", None).by_name["a"].value(1) is None


def test_dates_and_numpy_numbers_become_plain():
    assert plain(np.int8(3)) == 3
    assert plain(np.datetime64("2020-01-02")) == "2020-01-02"
    east = timezone(timedelta(hours=2))
    assert plain(datetime(2020, 1, 2, 1, tzinfo=east)) == "2020-01-01T23:00:00.000000Z"
    with pytest.raises(TypeError, match="a set"):
        plain({1})
    for beyond in (np.datetime64("NaT"), np.datetime64(2**60, "Y"), np.datetime64(2**62, "s"), np.datetime64("10000")):
        with pytest.raises(TypeError, match="the time"):
            plain(beyond)
    assert plain(np.datetime64("9999-12-31T23")) == "9999-12-31T23:00:00.000000"


@pytest.mark.parametrize("line", [b"no JSON", b"[1]", b'{"payload": [1]}'])
def test_a_damaged_line_is_named(line):
    with pytest.raises(hi2.FormatError, match=r"stored\.jsonl"):
        Columns.of_lines([line], np.arange(1))


@pytest.mark.parametrize(
    "change",
    [
        {"columns.json": np.frombuffer(b"no JSON", np.uint8)},
        {"columns.json": np.frombuffer(b"[" * 100_000, np.uint8)},
        {"columns.json": np.frombuffer(b'{"columns": [], "beyond": [1], "more": false}', np.uint8)},
        {"columns.json": np.frombuffer(b'{"columns": [], "beyond": ["a", "a"], "more": false}', np.uint8)},
        {"columns.json": np.frombuffer(b'{"columns": [], "beyond": [], "more": 1}', np.uint8)},
        {"columns.json": np.frombuffer(b'[{"name": 1, "kind": "int"}]', np.uint8)},
        {"columns.json": np.frombuffer(b'[{"name": "n", "kind": "date"}]', np.uint8)},
        {"columns.json": np.frombuffer(b"3", np.uint8)},
        {"column_2.npy": np.zeros(3, np.float64)},
        {"columns.json": None},
        {"column_0.npy": np.zeros(2, np.int64)},
        {"column_0.npy": np.zeros(3, np.int32)},
        {"column_1.npy": np.array([0, 1, 9], np.int32)},
        {"column_1_ends.npy": np.array([1, 99], np.uint64)},
        {"column_2_offsets.npy": np.array([0, 2, 1, 3])},
        {"column_2_offsets.npy": np.array([0, 1, 2])},
    ],
)
def test_damaged_columns_are_refused(change):
    payload = [{"n": 1, "s": "x", "t": ["p", "q"]}, {"s": "y", "t": ["q"]}, {"n": 3}]
    columns = Columns.of_lines([json.dumps({"payload": own}).encode() for own in payload], np.arange(3))
    stored = columns.arrays()
    assert set(change) <= set(stored)
    damaged = {name: array for name, array in {**stored, **change}.items() if array is not None}
    Columns.read(stored, 3)
    with pytest.raises(hi2.FormatError, match="payload columns cannot be read"):
        Columns.read(damaged, 3)


# -- objects and lists ------------------------------------------------------------------------------------------------


NESTED = [
    {"author": {"name": "Ada", "born": {"year": 1815}}, "a.b": 1, "marks": [1, 2.5], "odd key": {"x y": True}},
    {"author": {"name": "Bo"}, "a": {"b": 2}, "marks": [], "odd key": {"x y": False}},
    {"author": None, "marks": [2], "a.b": 3},
]


@pytest.fixture(params=["memory", "mapped"])
def nested(request, tmp_path):
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=NESTED, progress=False)
    if request.param == "memory":
        return index
    index.save(tmp_path / "a")
    opened = hi2.HybridIndex.open(tmp_path / "a")
    opened.verify()
    return opened


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ("author.name == 'Ada'", [0]),
        ("author.born.year < 1900", [0]),
        ("author.name exists", [0, 1]),
        ("not author.born.year exists", [1, 2]),
        ("a.b == 2", [1]),
        ("`a.b` >= 1", [0, 2]),
        ("`odd key`.`x y`", [0]),
        ("marks contains 2", [2]),
        ("marks contains 2.5", [0]),
        ("marks in (1, 2)", [0, 2]),
        ("2.5 in marks", [0]),
        ("marks exists", [0, 2]),
    ],
)
def test_paths_and_lists_can_be_filtered_on(nested, filter, expected):
    assert nested.ids(filter=filter) == expected
    assert nested.ids(filter=str(hi2.filters.parser.parse(filter))) == expected


def test_paths_in_python_and_for_groups(nested):
    assert nested.ids(filter=hi2.column("author.name") == "Bo") == [1]
    assert nested.ids(filter=hi2.column("marks").contains(1)) == [0]
    assert nested.search(VECTORS[0], k=3, group_by="author.name", clusters=9).groups.tolist() == ["Ada", "Bo", None]
    for filter in ("marks == 1", "marks contains 'x'", "marks contains true", "author == 'Ada'"):
        with pytest.raises(InvalidParameter, match="'filter'"):
            nested.ids(filter=filter)


def test_a_key_with_dots_is_found_without_quotes_too():
    index = hi2.HybridIndex.build(VECTORS, TEXTS, payload=[{"x.y": 1}, {"x.y": 2}, {}], progress=False)
    assert index.ids(filter="x.y == 2") == index.ids(filter=hi2.column("x.y") == 2) == [1]


def test_columns_from_before_there_were_paths_are_read():
    """Their objects are looked into when a filter is used."""
    columns = Columns.of_payloads(NESTED, np.arange(3), paths=False)
    assert columns.by_name["author"].kind == "other"
    again = Columns.read(columns.arrays(), 3)
    assert (again.paths, list(again.by_name)) == (False, list(columns.by_name))
    assert again.difference(columns) is None
