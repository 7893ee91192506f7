"""An index begins empty, fits itself as it grows, and is fitted again in place while searches go on."""

from __future__ import annotations

import dataclasses
import logging
import threading

import numpy as np
import pytest

import hi2
from hi2.changes.refit_in_place import FIRST_FIT, GROWTH_BETWEEN_FITS

DIM = 16


def documents(n, seed=0):
    random = np.random.default_rng(seed)
    topics = random.integers(0, 20, n)
    centers = np.random.default_rng(99).standard_normal((20, DIM))
    vectors = (centers[topics] + 0.3 * random.standard_normal((n, DIM))).astype(np.float32)
    return vectors, [f"topic{topic} word{i % 50} number{i}" for i, topic in enumerate(topics)]


@pytest.fixture(params=["memory", "disk"])
def created(request, tmp_path):
    return hi2.HybridIndex.create(dim=DIM, path=None if request.param == "memory" else tmp_path / "a")


def test_an_empty_index_can_be_searched(created):
    assert len(created) == 0
    assert len(created.search(np.ones(DIM), "word", k=3)) == 0
    assert len(created.search(None, "word")) == 0
    assert created.search(np.ones((2, DIM)), ["a", "b"], k=3).counts.tolist() == [0, 0]
    assert (created.ids(), created.count(), created.get("x", None)) == ([], 0, None)
    created.verify()
    created.info()
    created.health()
    with pytest.raises(hi2.Error, match="empty"):
        created.refit()


def test_an_empty_index_is_stored_and_opened(tmp_path):
    with hi2.HybridIndex.create(encoder=hi2.StaticEncoder(), path=tmp_path / "a", columns={"x": "other"}) as index:
        index.add(texts=["a red apple", "a green pear"], ids=["apple", "pear"], payload=[{"x": 1}, {"x": "y"}])
        assert index.search("apples", k=1)[0].text == "a red apple"
        index.commit()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    opened.verify()
    assert opened.search("pears", k=1).ids.tolist() == ["pear"]
    with pytest.raises(hi2.InvalidParameter, match="'path'"):
        hi2.HybridIndex.create(dim=3, path=tmp_path / "a")
    assert len(hi2.HybridIndex.create(dim=3, path=tmp_path / "a", overwrite=True)) == 0


def test_a_build_of_nothing_is_an_empty_index():
    for index in (
        hi2.HybridIndex.build(encoder=hi2.StaticEncoder()),
        hi2.HybridIndex.build(texts=[], encoder=hi2.StaticEncoder()),
        hi2.HybridIndex.build(texts=iter([]), encoder=hi2.StaticEncoder()),
        hi2.HybridIndex.build([], [], encoder=hi2.StaticEncoder()),
        hi2.HybridIndex.build(np.zeros((0, 256)), [], encoder=hi2.StaticEncoder()),
        hi2.HybridIndex.build(np.zeros((0, 256)), []),
        hi2.HybridIndex.build(np.zeros((0, 256)), iter([])),
    ):
        assert (len(index), index.dim) == (0, 256)
        index.add(hi2.StaticEncoder()(["red apple"]), ["red apple"])
        assert index.search(None, "apples").ids.tolist() == [0]
    with pytest.raises(hi2.InvalidParameter, match="A build of no documents"):
        hi2.HybridIndex.build()


@pytest.mark.parametrize("given", [{}, {"dim": 3, "encoder": hi2.StaticEncoder()}, {"dim": 0}, {"dim": "3"}])
def test_an_index_without_documents_needs_a_dimension_or_an_encoder(given):
    with pytest.raises(hi2.InvalidParameter, match="'dim'"):
        hi2.HybridIndex.create(**given)


def test_an_index_fits_itself_as_it_grows(created, caplog):
    caplog.set_level(logging.INFO, "hi2")
    vectors, texts = documents(3000)
    n_fits, at = [], 0
    for size in np.random.default_rng(1).choice([1, 7, 90, 200], 1000):
        if at + size > len(texts):
            break
        created.add(vectors[at : at + size], texts[at : at + size])
        at += int(size)
        n_fits.append(created.model.n_clusters)
        if created._index.writer is not None and at % 3 == 0:
            created.commit()
    assert n_fits[0] == 1
    assert len(set(n_fits)) >= 4
    assert n_fits[-1] >= 2 * np.sqrt(at / GROWTH_BETWEEN_FITS) - 1
    assert [own.getMessage() for own in caplog.records if own.getMessage().startswith("Fitted ")]
    built = hi2.HybridIndex.build(vectors[:at], texts[:at], progress=False)
    asked = vectors[:200] + 0.1, texts[:200]
    found, expected = created.search(*asked, k=10), built.search(*asked, k=10)
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(found.ids.tolist(), expected.ids.tolist(), strict=True)]
    assert np.mean(shared) > 0.9
    if created._index.writer is not None:
        created.commit()
        folder = created._index.stored.folder.path
        created.verify()
        reader = hi2.HybridIndex.open(folder)
        reader.verify()
        assert reader.model.n_clusters == n_fits[-1]
        assert reader.search(*asked, k=10).ids.tolist() == created.search(*asked, k=10).ids.tolist()
        created.commit()
        assert len([path for path in folder.iterdir() if path.name.startswith("model")]) == 1


def test_few_documents_are_all_scored(created):
    vectors, texts = documents(FIRST_FIT - 1)
    created.add(vectors, texts)
    assert created.model.n_clusters == 1
    assert created.search(vectors[0], texts[0], k=3).n_scored == len(texts)


def test_what_was_chosen_is_not_changed_by_growth():
    vectors, texts = documents(1200)
    fixed = hi2.HybridIndex.build(vectors[:60], texts[:60], clusters=hi2.KMeans(5))
    coded = hi2.HybridIndex.build(vectors[:60], texts[:60], codec=hi2.SQ8())
    bare = hi2.HybridIndex.build(vectors[:60], texts[:60], keep_text=False)
    free = hi2.HybridIndex.build(vectors[:60], texts[:60])
    for index in (fixed, coded, bare, free):
        index.add(vectors[60:], texts[60:])
    assert (fixed.model.n_clusters, coded.model.n_clusters, bare.model.n_clusters) == (5, 15, 15)
    assert free.model.n_clusters == round(2 * np.sqrt(1200))
    fixed.refit()
    assert fixed.model.n_clusters == 5
    assert fixed.model.evidence.n_docs == 1200


def test_refit_works_in_place_and_is_durable_with_the_next_commit(tmp_path):
    vectors, texts = documents(500)
    payload = [{"n": i} for i in range(500)]
    with hi2.HybridIndex.build(
        vectors[:300], texts[:300], payload=payload[:300], codec=hi2.Flat(), path=tmp_path / "a"
    ) as index:
        index.add(vectors[300:], texts[300:], payload=payload[300:])
        index.delete([3, 4])
        index.commit()
        reader = hi2.HybridIndex.open(tmp_path / "a")
        before = reader.search(vectors[:9], texts[:9], k=5).ids.tolist()
        assert index.refit()._index is index._index
        assert index.model.evidence.n_docs == 498
        assert index.info()["drift"]["added"] == 0
        index.verify()
        assert hi2.HybridIndex.open(tmp_path / "a").model.evidence.n_docs == 300  # not yet
        index.commit()
        index.verify()
        assert index.get(7)["payload"] == {"n": 7}
        assert index.ids() == [i for i in range(500) if i not in (3, 4)]
        assert np.array_equal(index.vectors([8, 499]), vectors[[8, 499]])
        assert reader.search(vectors[:9], texts[:9], k=5).ids.tolist() == before
        assert reader.refresh()
        assert reader.model.evidence.n_docs == 498
        assert reader.search(None, "number450", k=1).ids.tolist() == [450]
        after = index.search(vectors[:9], texts[:9], k=5).ids.tolist()
    again = hi2.HybridIndex.open(tmp_path / "a")
    again.verify()
    for found in (again, reader):
        assert found.search(vectors[:9], texts[:9], k=5).ids.tolist() == after


def test_what_an_empty_index_cannot_promise_is_refused():
    for given in ({"clusters": hi2.KMeans(50)}, {"codec": hi2.SQ8()}, {"refine": hi2.Flat()}):
        with pytest.raises(hi2.InvalidParameter, match="begins empty"):
            hi2.HybridIndex.build(np.zeros((0, DIM)), [], **given)
    with pytest.raises(hi2.InvalidParameter, match="begins empty"):
        hi2.HybridIndex.create(dim=DIM, clusters=hi2.KMeans(50))


def test_documents_without_text_do_not_stop_the_fit(caplog):
    vectors, texts = documents(700)
    index = hi2.HybridIndex.create(dim=DIM)
    index.add(vectors[:300], [None, *texts[1:300]])
    assert index.model.n_clusters > 1
    index.add(vectors[300:], texts[300:])
    assert "put off" not in caplog.text
    assert "texts are" not in " ".join(index.health()["advice"])


def test_replacing_documents_is_no_growth():
    vectors, texts = documents(600)
    index = hi2.HybridIndex.build(vectors, texts)
    model = index.model
    for _ in range(4):
        index.upsert(vectors[:400], texts[:400], ids=list(range(400)))
    assert index.model is model


def test_trained_codecs_stay():
    vectors, texts = documents(300)
    first = hi2.HybridIndex.build(vectors, texts, codec=hi2.PQ(4)).model.codec
    trained = dataclasses.replace(first, encoding=first.native)
    index = hi2.HybridIndex.build(vectors, texts, codec=trained, refine=hi2.Flat())
    index.refit()
    assert index.model.codec is trained


def test_profiles_of_the_old_fit_are_dropped_with_a_line(caplog):
    vectors, texts = documents(400)
    index = hi2.HybridIndex.build(vectors, texts, codec=hi2.Flat())
    index.tune(vectors[:50], texts[:50], target=0.9, k=5, name="mine", progress=False)
    caplog.set_level(logging.INFO, "hi2")
    index.refit()
    assert index.profiles == {}
    assert "'mine'" in caplog.text


def test_what_is_not_stored_cannot_be_fitted():
    vectors, texts = documents(300)
    for given, said in (
        ({"keep_text": False}, "text of 300 documents"),
        ({"codec": hi2.RaBitQ()}, r"refine=SQ8\(\)"),
    ):
        index = hi2.HybridIndex.build(vectors, texts, **given)
        with pytest.raises(hi2.Error, match=said):
            index.refit()
    trained = hi2.HybridIndex.build(vectors, term_weights=[{"a": 1.0}] * 300)
    with pytest.raises(hi2.Error, match="trained or given"):
        trained.refit()


def test_searches_go_on_while_an_index_is_fitted():
    vectors, texts = documents(4000)
    index = hi2.HybridIndex.build(vectors, texts, codec=hi2.Flat(), progress=False)
    stop, failures, n_done = threading.Event(), [], [0]

    def search():
        while not stop.is_set():
            try:
                assert len(index.search(vectors[5], texts[5], k=5).to_dicts()) == 5
                n_done[0] += 1
            except Exception as error:
                failures.append(error)
                return

    thread = threading.Thread(target=search)
    thread.start()
    for _ in range(3):
        index.refit()
    stop.set()
    thread.join()
    assert failures == []
    assert n_done[0] > 10


def test_a_fit_that_finds_no_room_loses_nothing(tmp_path, monkeypatch, caplog):
    vectors, texts = documents(700)
    with hi2.HybridIndex.create(dim=DIM, path=tmp_path / "a") as index:
        writer = index._index.writer
        with monkeypatch.context() as full:

            def write_segment(*_, **__):
                raise OSError("no room")

            full.setattr(writer, "write_segment", write_segment)
            index.add(vectors[:300], texts[:300])
        assert "no room" in caplog.text
        assert (len(index), index.model.n_clusters) == (300, 1)
        assert index.search(vectors[7], texts[7], k=1).ids.tolist() == [7]
        index.commit()
        index.add(vectors[300:], texts[300:])
        assert index.model.n_clusters > 1
        index.commit()
        index.verify()
    assert len(hi2.HybridIndex.open(tmp_path / "a")) == 700


@pytest.mark.parametrize("vector", ["none", "given"])
def test_a_document_whose_text_is_not_kept_keeps_its_words(created, vector, caplog):
    given = [None] if vector == "none" else np.ones((1, DIM), np.float32)
    created.add(given, ["unicorn invoice"], ids=[10**6], keep_text=False)
    with caplog.at_level(logging.WARNING, "hi2"):
        created.add(*documents(2 * FIRST_FIT), ids=list(range(2 * FIRST_FIT)))
    assert "does not keep the text of 1 documents" in caplog.text
    assert created.search(None, "unicorn").ids.tolist() == [10**6]
    with pytest.raises(hi2.Error, match="text of 1 documents"):
        created.refit()
    created.delete(10**6)
    created.refit()
    assert created.model.n_clusters > 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"keep_text": False}, "text of 600 documents"),
        ({"codec": hi2.OPQ(4)}, "keeps too little of the vectors"),
        ({"codec": hi2.RaBitQ()}, "keeps too little of the vectors"),
    ],
)
def test_health_does_not_advise_what_refit_refuses(options, why):
    vectors, texts = documents(600)
    index = hi2.HybridIndex.build(vectors, texts, **options)
    index.add(documents(600, seed=1)[0], [f"other{i % 9} words{i % 7}" for i in range(600)], ids=range(1000, 1600))
    (said,) = (said for said in index.health()["advice"] if "terms have moved" in said)
    assert said.startswith("refit() would help but cannot")
    assert why.replace("600", "1200") in said
    with pytest.raises(hi2.Error):
        index.refit()
