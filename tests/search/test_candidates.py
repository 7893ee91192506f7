"""A filter admits the documents that plain Python would, and a search finds min(k, passing) of them."""

from __future__ import annotations

import gc
import threading
import weakref
from datetime import date

import numpy as np
import pytest

import filing
import hi2
from hi2.changes.open_index import OpenIndex
from hi2.errors import InvalidParameter
from hi2.filters.expression import Comparison
from hi2.search import execute
from hi2.search.candidates import every_document, group_by_filter, matching, per_query
from hi2.state.profile import Profile
from hi2.state.snapshot import EMPTY
from payloads import FREE, payload_of

N = 12_000


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
    return hi2.HybridIndex.build(
        vectors, texts, payload=payload, codec=codec, clusters=clusters, columns=FREE, progress=False
    )


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
        hits = index.search(vectors[7], texts[7], k=k, filter=text, lexical=0)
        assert set(hits.ids.tolist()) <= set(passing)
        assert len(hits) == min(k, len(passing))
    if hits.complete:
        best = sorted(passing, key=lambda i: (-float(vectors[i] @ vectors[7]), i))[:300]
        assert hits.ids.tolist() == best
        assert hits.n_scored == len(passing)


def test_an_expression_finds_what_its_text_finds(documents, index):
    vectors, texts, _ = documents
    expression = (hi2.column("year") >= 2020) & hi2.column("lang").isin(["en", "de"])
    found = index.search(vectors[3], texts[3], filter=expression)
    text = "year >= 2020 and lang in ('en', 'de')"
    assert found.ids.tolist() == index.search(vectors[3], texts[3], filter=text).ids.tolist()


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
    with pytest.raises(InvalidParameter, match=r"mask with one boolean per document \(12000\)"):
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
    index = hi2.HybridIndex.build(vectors, texts, payload=payload, columns=FREE, path=path, progress=False)
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("year >", r"a number, a quoted string, true or false at character 7. Got the end"),
        ("year >= 'a'", r"comparison of 'year' with numbers"),
        ("planet == 1", r"over columns of the payload \(draft, lang, .*Got 'planet'"),
    ],
)
def test_a_search_reports_an_invalid_filter_string(index, documents, text, said):
    with pytest.raises(InvalidParameter, match=said):
        index.search(documents[0][0], filter=text)


def test_other_invalid_filters_are_rejected(index, documents):
    query = documents[0][0]
    wrong = [
        (3, "an expression, its text"),
        ([3.5], "'filter'"),
        (object(), "an expression"),
        (["a"], "integers, as the ids"),
    ]
    for bad, said in (*wrong, (np.array(5), "an expression")):
        with pytest.raises(InvalidParameter, match=said):
            index.search(query, filter=bad)
    with pytest.raises(InvalidParameter, match="one per query"):
        index.search(documents[0][:3], filters=["draft"])
    with pytest.raises(InvalidParameter, match="a list with one filter per query"):
        index.search(documents[0][:3], filters=5)
    with pytest.raises(InvalidParameter, match="both"):
        index.search(documents[0][:1], filter="draft", filters=["draft"])
    with pytest.raises(InvalidParameter, match="a number, a string"):
        hi2.column("year").isin([float("nan")])
    plain = hi2.HybridIndex.build(documents[0][:5], documents[1][:5], progress=False)
    with pytest.raises(InvalidParameter, match="no document has a payload"):
        plain.search(query, filter="year > 3")


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
    assert "the filter leaves it out" in str(hits.source.explain(0, left_out))
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


def test_a_filtered_index_is_freed_when_it_is_dropped(documents, tmp_path):
    """Mapped segments do not wait for the cycle collector."""
    vectors, texts, payload = documents
    hi2.HybridIndex.build(vectors[:50], texts[:50], payload=payload[:50], columns=FREE).save(tmp_path / "a")
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


# -- the documents that pass, without a search -------------------------------------------------------------------------


@pytest.fixture
def snapshot(corpus):
    """Two segments, some of whose documents are deleted; only the second has the column ``late``."""
    model = filing.model_of(corpus, terms=None)
    first = filing.file(model, corpus.vectors[:40], payload=[{"n": i} for i in range(40)])
    second = filing.file(model, corpus.vectors[:9], payload=[{"n": i, "late": True} for i in range(9)], first_id=40)
    snapshot = EMPTY.plus(first).plus(second)
    return snapshot.without(snapshot.find([0, 3, 41]))


def passing(found):
    """The ids of the documents that pass, and whether every view of them agrees."""
    ids = []
    for live, part in zip(found.snapshot.segments, found.parts, strict=True):
        assert part.n == len(part.docs)
        assert np.flatnonzero(np.unpackbits(part.bits, bitorder="little")).tolist() == part.docs.tolist()
        ids += [live.segment.take_ids(np.array([live.segment.row_of(doc)], np.uint32))[0] for doc in part.docs.tolist()]
    assert found.n == len(ids)
    return sorted(ids)


def test_every_kind_of_filter_gives_the_same_documents(snapshot):
    alive = snapshot.ids()
    wanted = sorted(id for id in alive if id % 40 < 5)
    mask = np.array([id % 40 < 5 for id in alive])
    for given in ("n < 5", hi2.column("n") < 5, mask, mask.tolist(), wanted, set(wanted), np.array(wanted[::-1])):
        assert passing(matching(snapshot, given)) == wanted
    assert passing(matching(snapshot, [0, 41, 1, 1, 10**6])) == [1]  # deleted, repeated and unknown ids
    assert passing(every_document(snapshot)) == sorted(alive)


def test_a_column_of_another_segment_is_known(snapshot):
    assert passing(matching(snapshot, "late")) == [40, *range(42, 49)]
    assert passing(matching(snapshot, "not late")) == sorted(id for id in snapshot.ids() if id < 40)


def test_bits_are_cached_with_the_segment_and_survive_deletions(snapshot):
    found = matching(snapshot, "n >= 2 and n < 6")
    again = matching(snapshot, "(n >= 2) and (n < 6)")
    assert all(a is b for a, b in zip(found.parts, again.parts, strict=True))
    segment = snapshot.segments[0].segment
    bits = segment.matches.get("(n >= 2 and n < 6)")
    assert np.unpackbits(bits).sum() == 4  # deleted documents included
    changed = snapshot.without(snapshot.find([4, 45]))
    assert passing(matching(changed, "n >= 2 and n < 6")) == [2, 5, 42, 43, 44]
    assert segment.matches.get("(n >= 2 and n < 6)") is bits
    assert passing(found) == [2, 4, 5, 42, 43, 44, 45]


def test_equal_expressions_are_one_group_and_lists_their_own():
    one, other = [1], [1]
    groups = group_by_filter(["a  <  3", one, hi2.column("a") < 3, None, other, one, "a < 3", None])
    assert [rows for _, rows in groups] == [[0, 2, 6], [1, 5], [3, 7], [4]]
    assert groups[0][0].text == "a < 3"
    assert group_by_filter([]) == []


def test_a_filter_that_many_queries_share_is_rendered_once(monkeypatch):
    rendered = []
    write = Comparison.write
    monkeypatch.setattr(Comparison, "write", lambda self, out: rendered.append(self) or write(self, out))
    shared = hi2.column("n").isin(range(1000))
    assert len(group_by_filter([shared] * 500)) == 1
    assert len(group_by_filter(["n in (7, 8, 9)"] * 500)) == 1
    assert len(rendered) == 2


def test_one_filter_for_all_or_one_per_query():
    assert per_query("draft", None) == "draft"
    assert per_query(None, ("draft", None)).filters == ["draft", None]
    for filter, filters in (("draft", ["draft"]), (None, "draft"), (None, {"draft"})):
        with pytest.raises(InvalidParameter, match="'filters'"):
            per_query(filter, filters)
