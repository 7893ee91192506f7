"""Labels teach a map of queries, and the index takes it up: as if every query had been mapped before the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

import hi2  # noqa: E402
import teaching  # noqa: E402
from hi2.codecs import OPQ, PQ, SQ8, Flat  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.selectors.terms import BM25  # noqa: E402
from hi2.store.parts import Parts  # noqa: E402
from hi2.training import Settings  # noqa: E402
from hi2.training.adaptation import LabelLoop  # noqa: E402
from hi2.training.examples import Batch  # noqa: E402
from hi2.training.folding import taken_up, takes_up  # noqa: E402
from hi2.training.students import QueryMap  # noqa: E402

LIGHT = Settings(method="light", epochs=8, batch=32, rate=0.02, hard=6, lexical=4, depth=40)


@pytest.fixture(scope="module")
def turned(topics):
    """Queries of another tower: what the documents' vectors are, turned by a random orthogonal matrix."""
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((16, 16)))[0].astype(np.float32)
    positives = [np.flatnonzero(topics.topic == topics.topic[own[0]]).tolist() for own in topics.positives]
    return replace(topics, query_vectors=np.ascontiguousarray(topics.query_vectors @ turn.T), positives=positives)


def trained(topics, settings=LIGHT, **changes):
    given = {"positives": topics.positives, "codec": OPQ(subspaces=4, bits=4), **changes}
    return teaching.trained(topics, settings, **given)


def built(topics, parts, **options):
    given = {"clusters": parts.clusters, "terms": None, "codec": parts.codec, **options}
    return hi2.HybridIndex.build(topics.vectors, topics.texts, progress=False, threads=1, **given)


def found(topics, index):
    hits = index.search(topics.query_vectors, k=12, clusters=2)
    return np.mean([np.isin(wanted, own).mean() for own, wanted in zip(hits.ids, topics.positives, strict=True)])


@pytest.fixture(scope="module")
def parts(turned):
    return trained(turned)


def test_a_tower_that_is_turned_is_turned_back(turned, parts):
    own = parts.record["adapted"]
    assert own["mapped"] > own["before"] + 0.1
    assert own["strength"] == max(own["tried"], key=lambda one: one["ranked"])["strength"] > 0
    assert parts.codec.query_map.shape == (16, 16)
    plain = trained(turned, replace(LIGHT, adapt=False))
    assert "adapted" not in plain.record
    assert plain.codec.query_map is None
    assert found(turned, built(turned, parts)) > found(turned, built(turned, plain)) + 0.3


def test_parts_that_were_kept_map_as_before(turned, parts, tmp_path):
    parts.save(tmp_path / "parts")
    loaded = Parts.load(tmp_path / "parts")
    assert found(turned, built(turned, loaded)) == found(turned, built(turned, parts))


def test_no_map_is_taken_that_finds_no_more(topics):
    too_fast = replace(LIGHT, rate=1.0, epochs=2)  # best before it begins
    spoilt = trained(topics, too_fast)
    assert spoilt.record["adapted"]["mapped"] == spoilt.record["adapted"]["before"]
    assert spoilt.codec.query_map is None
    plain = trained(topics, replace(too_fast, adapt=False))
    assert np.array_equal(spoilt.clusters.centroids, plain.clusters.centroids)


def test_labels_are_needed_and_a_codec_that_takes_it_up(turned):
    assert "adapted" not in trained(turned, positives=None).record
    assert "adapted" not in trained(turned, codec=OPQ(subspaces=4, residual=True)).record
    assert "adapted" not in trained(turned, codec=Flat()).record
    with pytest.raises(hi2.InvalidParameter, match="not residual"):
        trained(turned, Settings(method="jpq", batch=32), codec=PQ(subspaces=4, residual=True))


@pytest.mark.parametrize(
    "spec", [PQ(subspaces=4), OPQ(subspaces=4), OPQ(subspaces=3), PQ(subspaces=5, bits=4)], ids=repr
)
@pytest.mark.parametrize("moved", [False, True])
def test_taking_a_map_up_is_mapping_every_query(topics, spec, moved):
    random = np.random.default_rng(5)
    query_map = (np.eye(16) + 0.3 * random.standard_normal((16, 16))).astype(np.float32)
    clusters = KMeans(12).fit(topics.vectors, n_docs=len(topics.vectors), threads=1)
    codec = spec.fit(topics.vectors, threads=1)
    if moved:  # codewords that training moved, over codes it left alone
        first = {"encoding_" + name: array for name, array in codec.arrays.items()}
        books = codec.arrays["codebooks"] + 0.05 * random.standard_normal(codec.arrays["codebooks"].shape)
        codec = codec.spec.restore(16, {**codec.arrays, **first, "codebooks": books.astype(np.float32)})
    assert takes_up(codec)
    own_clusters, own_codec = taken_up(query_map, clusters, codec)
    assert own_codec.encoding_name == codec.encoding_name  # no document need be encoded anew
    assert np.array_equal(own_codec.encode(topics.vectors), codec.encode(topics.vectors))
    before, after = (
        hi2.HybridIndex.build(topics.vectors, clusters=a, terms=None, codec=b, progress=False)
        for a, b in ((clusters, codec), (own_clusters, own_codec))
    )
    asked = topics.query_vectors[:30]
    expected = before.search(asked @ query_map.T, k=20, clusters=3)
    hits = after.search(asked, k=20, clusters=3)
    np.testing.assert_allclose(hits.scores, expected.scores, atol=1e-5)
    assert np.mean(hits.ids == expected.ids) > 0.95  # but for ties within rounding


def test_an_index_is_refitted_without_its_vectors(turned, parts):
    index = hi2.HybridIndex.build(
        turned.vectors,
        turned.texts,
        clusters=KMeans(12),
        terms=BM25(per_doc=2),
        codec=OPQ(subspaces=4, bits=4),
        keep_text=True,
        threads=1,
        progress=False,
    )
    assert max(parts.record["codec"], key=parts.record["codec"].get) != "encoded again"
    assert found(turned, index.refit(parts)) > found(turned, index) + 0.3


def test_a_refine_store_would_undo_it(turned, parts):
    with pytest.raises(hi2.InvalidParameter, match="no-adapt"):
        built(turned, parts, refine=SQ8())
    plain = {"clusters": KMeans(12), "terms": None, "codec": OPQ(subspaces=4, bits=4), "refine": SQ8()}
    index = hi2.HybridIndex.build(turned.vectors, progress=False, threads=1, **plain)
    with pytest.raises(hi2.InvalidParameter, match="no-adapt"):
        index.refit(parts)


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("codec", [OPQ(subspaces=4, bits=4), PQ(subspaces=4, bits=4)], ids=repr)
def test_an_index_that_was_adapted_is_trained_further(turned, labels, codec):
    first = trained(turned, codec=codec)
    index = built(turned, first)
    start = {"clusters": index.model.clusters, "codec": index.model.codec}
    again = trained(turned, replace(LIGHT, epochs=2), **start, **({} if labels else {"positives": None}))
    assert again.codec.query_map is not None
    found_by = {name: again.record["codec"][name] for name in ("untrained", "kept", "encoded again")}
    anew = max(found_by, key=found_by.get) == "encoded again"
    assert (again.codec.encoding_name != first.codec.encoding_name) == anew
    assert found(turned, built(turned, again)) > found(turned, index) - 0.03
    if labels:  # the teacher begins where the last one ended
        assert again.record["adapted"]["before"] == pytest.approx(first.record["adapted"]["mapped"], abs=1e-6)


def test_fresh_clusters_beside_an_adapted_codec_are_mapped_too(turned, parts):
    again = trained(turned, replace(LIGHT, rate=1e-6, epochs=1, adapt=False), codec=parts.codec)
    assert found(turned, built(turned, again)) > found(turned, built(turned, parts)) - 0.1


def test_gains_are_learned_on_top_of_gains(turned, parts):
    still = replace(LIGHT, rate=1e-7, epochs=1)
    again = trained(turned, still, clusters=parts.clusters, codec=parts.codec, terms=parts.terms)
    assert again.record["density"][0]["found_more"] == pytest.approx(0, abs=1e-3)  # the same lists, all but unchanged


def test_a_map_that_ranks_worse_is_not_taken(topics, monkeypatch):
    def spoil(self, *_):  # at every strength it turns the ranking about
        self.students["query"].change.data.copy_(-5 * torch.eye(16))

    monkeypatch.setattr(LabelLoop, "run", spoil)
    own = trained(topics, replace(LIGHT, epochs=1))
    assert own.record["adapted"]["strength"] == 0
    assert own.codec.query_map is None
    assert all(
        one["ranked"] < own.record["adapted"]["tried"][0]["ranked"] for one in own.record["adapted"]["tried"][1:]
    )


def test_a_map_that_cannot_be_undone_is_not_trained_from(turned, parts):
    flat = np.zeros((16, 16), np.float32)
    flat[0, 0] = 1.0
    start = trained(turned, replace(LIGHT, adapt=False))
    clusters, codec = taken_up(flat, start.clusters, start.codec)
    with pytest.raises(hi2.InvalidParameter, match="before it"):
        trained(turned, clusters=clusters, codec=codec)


def test_a_damaged_map_is_named(turned, parts, tmp_path):
    codec = parts.codec
    with pytest.raises(ValueError, match="map of queries"):
        codec.spec.restore(16, {**codec.arrays, "query_map": np.eye(8, dtype=np.float32)})


def test_the_loss_is_the_formula_and_its_gradient_that_of_finite_differences():
    random = np.random.default_rng(11)
    torch.set_default_dtype(torch.float64)
    try:
        documents, asked = random.standard_normal((9, 8)), random.standard_normal((2, 8))
        pool, positives = np.array([0, 2, 3, 5, 8]), [np.array([2]), np.array([0, 8])]
        loop = LabelLoop({"query": QueryMap(8)}, documents, 0.5, LIGHT, folder=None, data="toy")
        batch = Batch(asked, [], pool, positives)
        shares = teaching.softmax(asked @ documents[pool].T / 0.5)
        expected = -(np.log(shares[0, 1]) + np.log(shares[1, [0, 4]]).mean()) / 2
        assert float(loop.losses(batch)["query"].detach()) == pytest.approx(expected)
        teaching.compare(lambda: loop.losses(batch)["query"], loop.students)
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_is_lost_to_codes_is_measured_with_mapped_queries(turned, parts, tmp_path):
    from hi2.evaluation.peers.trained import Light

    parts.save(tmp_path / "light")
    peer = Light(tmp_path / "light")
    vector = turned.query_vectors[0]
    np.testing.assert_allclose(peer.asked(vector), parts.codec.query_map @ vector, atol=1e-6)


def test_found_and_ranked_are_recall_and_ndcg():
    from hi2.evaluation.measures import Measure
    from hi2.training.reconstruction import found_and_ranked

    random = np.random.default_rng(4)
    queries, documents = (random.standard_normal((n, 8)).astype(np.float32) for n in (30, 400))
    wanted = [np.unique(random.integers(0, 400, random.integers(1, 5))) for _ in range(30)]
    best = np.argsort(-(queries @ documents.T), axis=1)[:, :100]
    gains = [[float(row in own) for row in rows] for rows, own in zip(best, wanted, strict=True)]
    expected = [
        np.mean([Measure(name, 100)(own, [1.0] * len(asked)) for own, asked in zip(gains, wanted, strict=True)])
        for name in ("R", "nDCG")
    ]
    assert found_and_ranked(queries, documents, wanted) == pytest.approx(expected)


def test_a_killed_run_resumes_to_the_same_map(turned, parts, tmp_path, monkeypatch):
    begun = teaching.kill_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        trained(turned, folder=tmp_path)
    assert begun == [(LabelLoop, 0), (LabelLoop, 1), (LabelLoop, 2)]
    resumed = trained(turned, folder=tmp_path)
    assert resumed.record["adapted"] == parts.record["adapted"]
    assert np.array_equal(resumed.clusters.centroids, parts.clusters.centroids)
