"""Filters agree with plain Python, always find min(k, passing) hits, and report the position of an error."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2.changes.open_index import OpenIndex
from hi2.errors import InvalidParameter
from hi2.filters.columns import Columns
from hi2.filters.parser import parse
from hi2.search import execute
from hi2.search.candidates import matching
from hi2.state.profile import Profile

N = 12_000
LANGUAGES = ["de", "en", "fr", None]


def payload_of(i):
    return {
        "year": 2000 + i % 25 if i % 9 else None,
        "lang": LANGUAGES[i % 4],
        "tags": [f"t{i % 5}", f"u{i % 11}"] if i % 3 else [],
        "weight": i / 7,
        "draft": i % 2 == 0,
        "number": i,
        "seen": date(2020 + i % 3, 1 + i % 12, 1 + i % 28),
        "mixed": i if i % 2 else str(i),
    }


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(5)
    vectors = random.standard_normal((N, 24)).astype(np.float32)
    texts = [f"word{i % 50} thing{i % 7}" for i in range(N)]
    return vectors, texts, [payload_of(i) for i in range(N)]


@pytest.fixture(scope="module")
def index(documents):
    vectors, texts, payload = documents
    codec, clusters = hi2.Flat(), hi2.KMeans(64)
    return hi2.HybridIndex.build(vectors, texts, payload=payload, codec=codec, clusters=clusters, progress=False)


RULES = {
    "year >= 2020 and lang in ('en', 'de')": lambda p: (p["year"] or 0) >= 2020 and p["lang"] in ("en", "de"),
    "not draft": lambda p: not p["draft"],
    "draft == true and not (year exists)": lambda p: p["draft"] and p["year"] is None,
    "'t3' in tags or number < 10": lambda p: "t3" in p["tags"] or p["number"] < 10,
    "tags in ('t1', 'u2')": lambda p: bool({"t1", "u2"} & set(p["tags"])),
    "number == 17": lambda p: p["number"] == 17,
    "number == 17.5": lambda p: False,
    "number < 1000000000000000000000000": lambda p: True,
    "lang > 'de'": lambda p: (p["lang"] or "") > "de",
    "lang != 'de'": lambda p: p["lang"] is not None and p["lang"] != "de",
    "lang not in ('de')": lambda p: p["lang"] != "de",
    "lang >= 'dz' and lang <= 'en'": lambda p: p["lang"] == "en",
    "weight <= 3.5e0": lambda p: p["weight"] <= 3.5,
    "seen >= '2021-06-01' and seen < '2022'": lambda p: date(2021, 6, 1) <= p["seen"] < date(2022, 1, 1),
    "`year` != 2003": lambda p: p["year"] is not None and p["year"] != 2003,
}


@pytest.mark.parametrize("text", RULES)
def test_a_filter_passes_the_same_documents_as_plain_python(documents, index, text):
    vectors, texts, payload = documents
    passing = [i for i, own in enumerate(payload) if RULES[text](own)]
    for k in (1, 20, 300):
        hits = index.search(vectors[7], texts[7], k=k, filter=text)
        assert set(hits.ids.tolist()) <= set(passing)
        assert len(hits) == min(k, len(passing))
    if hits.complete:
        best = sorted(passing, key=lambda i: (-float(vectors[i] @ vectors[7]), i))[:300]
        assert hits.ids.tolist() == best
        assert hits.n_scored == len(passing)


def test_python_expressions_equal_filter_strings(documents, index):
    column = hi2.column
    pairs = [
        ((column("year") >= 2020) & column("lang").isin(["en", "de"]), "year >= 2020 and lang in ('en', 'de')"),
        (~(column("draft") == True) | column("tags").contains("t3"), "not draft or tags contains 't3'"),  # noqa: E712
        (column("seen") > date(2021, 1, 31), "seen > '2021-01-31'"),
        (column("an odd name").exists(), "`an odd name` exists"),
        (column("lang") == "it's \\ 'quoted'", "lang == 'it\\'s \\\\ \\'quoted\\''"),
    ]
    for expression, text in pairs:
        assert str(expression) == str(parse(text))
        assert str(parse(str(expression))) == str(expression)
    vectors, texts, _ = documents
    found = index.search(vectors[3], texts[3], filter=pairs[0][0])
    assert found.ids.tolist() == index.search(vectors[3], texts[3], filter=pairs[0][1]).ids.tolist()
    with pytest.raises(InvalidParameter, match="no truth of its own"):
        bool(column("year") > 3)


def test_every_query_of_a_batch_can_have_its_own_filter(documents, index):
    vectors, texts, payload = documents
    filters = ["lang == 'en'", None, hi2.column("number") < 5, "lang == 'en'"]
    batch = index.search(vectors[:4], texts[:4], k=15, filters=filters)
    for i, own in enumerate(filters):
        alone = index.search(vectors[i], texts[i], k=15, filter=own)
        assert batch[i].ids.tolist() == alone.ids.tolist()
        assert batch[i].n_scored == alone.n_scored
    assert batch.counts.tolist() == [15, 15, 5, 15]
    assert batch.complete.tolist()[2]
    assert all(payload[id]["lang"] == "en" for id in batch[3].ids)


def test_masks_and_lists_of_ids_are_filters(documents, index):
    vectors, texts, payload = documents
    mask = np.array([own["lang"] == "fr" for own in payload])
    expected = index.search(vectors[1], texts[1], k=30, filter="lang == 'fr'")
    assert index.search(vectors[1], texts[1], k=30, filter=mask).ids.tolist() == expected.ids.tolist()
    some = [5, 900, 31, 10**9]
    assert sorted(index.search(vectors[1], texts[1], k=30, filter=some).ids.tolist()) == [5, 31, 900]
    assert len(index.search(vectors[1], texts[1], filter=[])) == 0
    with pytest.raises(InvalidParameter, match=r"mask with one boolean a document \(12000\)"):
        index.search(vectors[1], filter=np.ones(5, bool))


def test_a_search_opens_more_clusters_until_k_hits_are_found():
    """The passing documents are in the clusters farthest from the query."""
    random = np.random.default_rng(0)
    vectors = random.standard_normal((20_000, 16)).astype(np.float32)
    vectors[:6000] += 20 * np.eye(16, dtype=np.float32)[0]
    far = np.arange(20_000) < 6000
    index = hi2.HybridIndex.build(
        vectors, payload=({"far": bool(own)} for own in far), clusters=hi2.KMeans(100), terms=None, progress=False
    )
    query = -20 * np.eye(16, dtype=np.float32)[0]
    hits = index.search(query, k=50, clusters=1, filter="far")
    assert hits.counts == 50
    assert (hits.ids < 6000).all()
    assert len(index.search(query, k=7000, clusters=1, filter="far")) == 6000


def test_filters_see_added_deleted_and_merged_documents(tmp_path, documents):
    vectors, texts, payload = (part[:600] for part in documents)
    path = tmp_path / "a.hi2"
    index = hi2.HybridIndex.build(vectors, texts, payload=payload, path=path, progress=False)
    asked = {"k": 600, "filter": "lang == 'en'"}
    english = {i for i in range(600) if payload[i]["lang"] == "en"}
    assert set(index.search(vectors[0], texts[0], **asked).ids.tolist()) == english
    index.delete(sorted(english)[:10])
    index.add(vectors[:2], texts[:2], ids=[900, 901], payload=[{"lang": "en"}, {"other": 1}])
    english = (english - set(sorted(english)[:10])) | {900}
    assert set(index.search(vectors[0], texts[0], **asked).ids.tolist()) == english
    assert index.search(vectors[0], texts[0], k=9, filter="other == 1").ids.tolist() == [901]
    index.commit()
    index.merge()
    assert set(index.search(vectors[0], texts[0], **asked).ids.tolist()) == english
    index.commit()
    index.close()
    opened = hi2.HybridIndex.open(path)
    opened.verify()
    assert set(opened.search(vectors[0], texts[0], **asked).ids.tolist()) == english
    assert opened.search(vectors[0], texts[0], k=9, filter="other == 1").ids.tolist() == [901]


def test_columns_on_disk_equal_those_of_the_stored_payload(tmp_path, documents):
    vectors, texts, payload = (part[:300] for part in documents)
    index = hi2.HybridIndex.build(vectors, texts, payload=payload, progress=False)
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


def test_dates_are_stored_as_text_that_sorts_by_time(documents):
    vectors, texts, _ = (part[:3] for part in documents)
    moments = [date(2024, 1, 31), datetime(2024, 1, 31, 10, 5), datetime(2024, 2, 1, tzinfo=timezone.utc)]
    index = hi2.HybridIndex.build(vectors, texts, payload=[{"at": own} for own in moments], progress=False)
    stored = [own["payload"]["at"] for own in index.get([0, 1, 2])]
    assert stored == ["2024-01-31", "2024-01-31T10:05:00.000000", "2024-02-01T00:00:00.000000Z"]
    assert index.search(vectors[0], filter=hi2.column("at") >= date(2024, 2, 1)).ids.tolist() == [2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("year >", r"a number, a quoted string, true or false at character 7. Got the end"),
        ("year >= 'a'", r"comparison of 'year' with numbers"),
        ("lang == 3", r"comparison of 'lang' with strings"),
        ("year == true", r"comparison of 'year' with numbers"),
        ("planet == 1", r"over columns of the payload \(draft, lang, .*Got 'planet'"),
        ("lang == 'x", r"a closing quote at character 9"),
        ("(year > 1", r"a closing bracket at character 10"),
        ("year >= 2020 andx", r"and, or, or the end at character 14. Got 'andx'"),
        ("year in 3", r"an opening bracket at character 9"),
        ("year in (3 4)", r"a comma or a closing bracket at character 12"),
        ("3 < year", r"a comparison begins with its column"),
        ("; drop table", r"a column, a value or an operator at character 1"),
        ("", r"a column at character 1. Got the end"),
        ("tags > 'a'", r"'tags' holds tags"),
        ("draft > false", r"'draft' \(true or false\) knows"),
        ("mixed == 1", r"columns of one type"),
        ("not " * 200 + "draft", r"at most 100"),
        ("(" * 5000, r"at most 100"),
    ],
)
def test_an_invalid_filter_string_is_reported_with_its_position(index, documents, text, said):
    with pytest.raises(InvalidParameter, match=said):
        index.search(documents[0][0], filter=text)


def test_other_invalid_filters_are_rejected(index, documents):
    query = documents[0][0]
    wrong = [(3, "an expression, its text"), ([3.5], "'filter'"), (object(), "an expression"), (["a"], "type int")]
    for bad, said in (*wrong, (np.array(5), "an expression")):
        with pytest.raises(InvalidParameter, match=said):
            index.search(query, filter=bad)
    with pytest.raises(InvalidParameter, match="one a query"):
        index.search(documents[0][:3], filters=["draft"])
    with pytest.raises(InvalidParameter, match="a list with one filter a query"):
        index.search(documents[0][:3], filters=5)
    with pytest.raises(InvalidParameter, match="both"):
        index.search(documents[0][:1], filter="draft", filters=["draft"])
    with pytest.raises(InvalidParameter, match="a number, a string"):
        hi2.column("year").isin([float("nan")])
    plain = hi2.HybridIndex.build(documents[0][:5], documents[1][:5], progress=False)
    with pytest.raises(InvalidParameter, match="no document has a payload"):
        plain.search(query, filter="year > 3")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40) | st.text("()'\"`=<>!andornotin, 0123.yearlang\\-", max_size=40))
def test_any_string_is_an_expression_or_a_clear_error(text):
    try:
        expression = parse(text)
    except InvalidParameter as error:
        said = str(error)
    else:
        said = "character"
        assert str(parse(str(expression))) == str(expression)
    assert "character" in said


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
PAYLOADS = st.dictionaries(st.sampled_from("ab"), VALUES | st.lists(st.text(max_size=3), max_size=3))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("ab"), VALUES | st.lists(st.text(max_size=3), max_size=3)),
        min_size=1,
        max_size=12,
    )
)
def test_the_columns_of_any_payload_can_be_read_back(rows):
    docs = np.random.default_rng(0).permutation(len(rows))
    columns = Columns.of_lines([json.dumps({"payload": own}).encode() for own in rows], docs)
    again = Columns.read(columns.arrays(), len(rows))
    for name, column in again.by_name.items():
        if column.kind in ("other", "tags"):
            continue
        for row, own in enumerate(rows):
            expected = own.get(name)
            found = column.value(int(docs[row]))
            assert found == (float(expected) if column.kind == "float" and expected is not None else expected)


def test_filtered_searches_see_consistent_states_while_the_index_changes():
    """Every answer matches a state that the index was in."""
    random = np.random.default_rng(1)
    vectors = random.standard_normal((400, 8)).astype(np.float32)
    texts = [f"word{i % 9}" for i in range(400)]
    index = hi2.HybridIndex.build(
        vectors[:100], texts[:100], payload=[{"mod": i % 3} for i in range(100)], codec=hi2.Flat(), progress=False
    )
    index.add_profile("all", Profile(clusters=10**6, model=index.model.fingerprint))
    index.add_profile("weighed", Profile(adaptive=0.0, model=index.model.fingerprint))
    states = [set(range(100))]
    wrong: list[object] = []
    done = threading.Event()

    def read(number: int) -> None:
        while not done.is_set():
            own = number % 3
            before = len(states)
            given = {"filter": f"mod == {own}"} if number % 2 else {}
            profile = (None, "all", "weighed")[number // 2 % 3] if number % 2 else ("all", "weighed")[number // 2 % 2]
            hits = index.search(vectors[number], texts[number], k=500, profile=profile, **given)
            found = {id for id in hits.ids.tolist() if id % 3 == own} if not given else set(hits.ids.tolist())
            # Each state is recorded before it takes effect, so one of the states known by then must match.
            known = states[max(0, before - 2) :]
            if not any(found == {id for id in state if id % 3 == own} for state in known):
                wrong.append((number, sorted(found)))

    readers = [threading.Thread(target=read, args=(number,)) for number in range(24)]
    for reader in readers:
        reader.start()
    try:
        for step in range(100, 160, 2):
            new = states[-1] | {step, step + 1}
            states.append(new)
            index.add(
                vectors[step : step + 2],
                texts[step : step + 2],
                ids=[step, step + 1],
                payload=[{"mod": step % 3}, {"mod": (step + 1) % 3}],
            )
            gone = new - {step - 100}
            states.append(gone)
            index.delete([step - 100], missing_ok=True)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not wrong


def test_filters_work_with_explain_and_with_profiles(documents, index):
    vectors, texts, payload = documents
    english = "lang == 'en'"
    hits = index.search(vectors[8], texts[8], k=5, filter=english, clusters=1)
    assert [own.outcome for own in hits.explain()] == ["found"] * 5
    later = index.search(vectors[8], texts[8], k=5, offset=20)
    assert [own.rank for own in later.explain()] == [21, 22, 23, 24, 25]
    left_out = next(i for i in range(N) if payload[i]["lang"] == "de")
    assert "the filter leaves it out" in str(hits.why(0, left_out))
    tuned = hi2.HybridIndex(OpenIndex(index._index.state))
    tuned.add_profile("mine", Profile(adaptive=0.02, model=index.model.fingerprint))
    weighed = tuned.search(vectors[8], texts[8], k=5, filter="not draft", profile="mine")
    assert weighed.n_scored == index.search(vectors[8], texts[8], k=5, filter="not draft").n_scored < 6000
    assert not weighed.complete
    every = index.search(vectors[8], texts[8], k=5, filter="not draft", clusters=10**6)
    assert every.complete
    assert every.n_scored == 6000


def test_long_chains_of_or_and_in_are_not_deep(documents, index):
    text = " or ".join(["number == 3"] * 3000)
    assert index.search(documents[0][0], filter=text).ids.tolist() == [3]
    expression = hi2.column("number") == 3
    for _ in range(3000):
        expression = expression | (hi2.column("number") == 4)
    assert set(index.search(documents[0][0], filter=expression).ids.tolist()) == {3, 4}
    many = f"number in ({', '.join(map(str, range(0, N, 2)))})"
    assert index.search(documents[0][1], k=N, filter=many).counts == N // 2


def test_a_query_without_a_filter_in_a_filtered_batch_is_searched_as_usual(documents, index):
    vectors, texts, _ = documents
    batch = index.search(vectors[:2], texts[:2], k=5, clusters=1, filters=[None, "draft"])
    plain = index.search(vectors[0], texts[0], k=5, clusters=1)
    assert batch[0].ids.tolist() == plain.ids.tolist()
    assert batch[0].n_scored == plain.n_scored
    none = index.search(vectors[:0], filter="draft")
    assert none.ids.shape == (0, 10)


def test_datetimes_sort_by_time(documents):
    vectors, texts, _ = (part[:3] for part in documents)
    first = datetime(2020, 1, 1, tzinfo=timezone.utc)
    moments = [first, first + timedelta(microseconds=5), np.datetime64("2019-12-31")]
    index = hi2.HybridIndex.build(vectors, texts, payload=[{"at": own} for own in moments], progress=False)
    assert index.search(vectors[0], filter=hi2.column("at") > first).ids.tolist() == [1]
    assert index.search(vectors[0], filter=hi2.column("at") < np.datetime64("2020-01-01T00:00:00")).ids.tolist() == [2]


def test_a_filter_on_a_key_beyond_the_column_limit_is_a_clear_error(documents):
    vectors, texts, _ = (part[:2] for part in documents)
    payload = [{f"k{i}": 1 for i in range(300)}, {"k299": 1}]
    index = hi2.HybridIndex.build(vectors, texts, payload=payload, progress=False)
    assert index.search(vectors[0], filter="k3 == 1").ids.tolist() == [0]
    with pytest.raises(InvalidParameter, match="256 columns before it"):
        index.search(vectors[0], filter="k299 == 1")
    hi2.HybridIndex.build(vectors, texts, payload=[{"x": 10**400}, {"x": 1}], progress=False)


def test_a_filtered_index_is_freed_when_it_is_dropped(documents, tmp_path):
    """Mapped segments do not wait for the cycle collector."""
    vectors, texts, payload = documents
    hi2.HybridIndex.build(vectors[:50], texts[:50], payload=payload[:50]).save(tmp_path / "a")
    gc.collect()
    gc.disable()
    try:
        index = hi2.HybridIndex.open(tmp_path / "a")
        index.search(vectors[0], filter="number < 10")
        index.search(vectors[:3], filters=["number < 10", None, [1, 2]], k=2)
        segment = weakref.ref(index._index.state.snapshot.segments[0].segment)
        assert segment() is not None
        del index
        assert segment() is None
    finally:
        gc.enable()


def test_queries_with_equal_filters_are_searched_together(documents, index, monkeypatch):
    """Equal texts, however they are spelled, and the expression itself make one group."""
    vectors = documents[0]
    evaluated = []
    monkeypatch.setattr(
        execute, "matching", lambda snapshot, given: evaluated.append(given) or matching(snapshot, given)
    )
    filters = [
        "number < 50",
        "".join(["number", " < 50"]),
        "(number  <  50)",
        hi2.column("number") < 50,
        [7],
        [7],
        None,
    ]
    hits = index.search(vectors[: len(filters)], filters=filters, k=3)
    assert len(evaluated) == 3  # one expression, two lists
    for row, own in enumerate(filters):
        alone = index.search(vectors[row], filter=own, k=3)
        assert hits[row].ids.tolist() == alone.ids.tolist()
