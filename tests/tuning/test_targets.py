"""Tuned targets hold on unseen queries, limits are kept, and bad input stores nothing."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.errors import InvalidParameter
from tuning_sample import K, agreement, fresh, half


def test_a_target_holds_on_unseen_queries(made):
    index, (_, vectors, queries, _) = fresh(made), made
    seen, unseen = half(queries, 0), half(queries, 1)
    costs = []
    for target in (0.8, 0.95):
        tuned = index.tune(*seen, target=target, k=K, name="mine", progress=False)
        found, hits = agreement(index, vectors, unseen, profile="mine")
        assert found >= target - 0.02
        assert found == pytest.approx(index.profiles["mine"].promise["recall"], abs=0.03)
        assert set(index.profiles) == {"mine"}
        costs.append(hits.n_scored.mean())
        reaching = [own for own in tuned.front if own.assured >= target]
        assert min(reaching, key=lambda own: own.cost).documents == index.profiles["mine"].promise["documents"]
    assert costs == sorted(costs)
    assert "mine" in str(tuned)


def test_without_a_target_there_are_three_profiles(made):
    index, (_, vectors, queries, _) = fresh(made), made
    index.tune(*half(queries, 0), k=K, progress=False)
    assert list(index.profiles) == ["fast", "balanced", "exact"]
    shares = [agreement(index, vectors, half(queries, 1), profile=name)[0] for name in index.profiles]
    assert shares == sorted(shares)
    assert shares[2] > 0.97
    narrowed = index.search(queries[0][0], queries[1][0], k=K, profile="exact", clusters=1, per_doc=0, adaptive=0.5)
    assert narrowed.n_scored < index.search(queries[0][0], queries[1][0], k=K, profile="exact").n_scored


def test_a_budget_or_a_latency_gives_the_best_setting_within_it(made):
    index, (_, _, queries, _) = fresh(made), made
    tuned = index.tune(*half(queries, 0), budget=300, k=K, name="cheap", progress=False)
    assert index.profiles["cheap"].promise["documents"] <= 300
    better = [own for own in tuned.front if own.recall > index.profiles["cheap"].promise["recall"]]
    assert all(own.documents > 300 for own in better)
    index.tune(*half(queries, 0), latency=1e6, k=K, name="slow", progress=False)
    assert index.profiles["slow"].promise["recall"] == pytest.approx(1.0)


def test_with_labels_the_target_is_a_share_of_the_recall_of_brute_force(made):
    index, (_, _, queries, labels) = fresh(made), made
    seen = half(queries, 0)
    relevant = [np.flatnonzero(labels == topic)[:5].tolist() for topic in queries[2][0::2]]
    tuned = index.tune(*seen, relevant=relevant, target=0.9, k=K, progress=False)
    assert tuned.measure == "share of brute force's recall"
    exact = np.argsort(-(seen[0] @ made[1].T), axis=1)[:, :K]
    whole = np.mean([len(set(a.tolist()) & set(b)) / 5 for a, b in zip(exact, relevant, strict=True)])
    hits = index.search(*seen, k=K, profile="tuned")
    own = np.mean([len(set(a.tolist()) & set(b)) / 5 for a, b in zip(hits.ids, relevant, strict=True)])
    assert own >= 0.9 * whole


def test_queries_without_labels_are_left_out(made):
    index, (_, _, queries, labels) = fresh(made), made
    seen = half(queries, 0)
    known = [np.flatnonzero(labels == topic)[:5].tolist() for topic in queries[2][0::2]]
    some = [own if i >= 80 else [] for i, own in enumerate(known)]
    tuned = index.tune(*seen, relevant=some, target=0.9, k=K, progress=False)
    assert tuned.n_queries == len(known) - 80
    exact = np.argsort(-(seen[0][80:] @ made[1].T), axis=1)[:, :K]
    whole = np.mean([len(set(a.tolist()) & set(b)) / 5 for a, b in zip(exact, some[80:], strict=True)])
    hits = index.search(seen[0][80:], seen[1][80:], k=K, profile="tuned")
    own = np.mean([len(set(a.tolist()) & set(b)) / 5 for a, b in zip(hits.ids, some[80:], strict=True)])
    assert index.profiles["tuned"].promise["recall"] == pytest.approx(own / whole, abs=0.35)


def test_tuning_chooses_refine_and_measures_against_the_refine_store(made):
    _, vectors, queries, _ = made
    index = hi2.HybridIndex.build(
        vectors, codec=hi2.RaBitQ(), refine=hi2.Flat(), clusters=made[0].model.clusters, terms=None, progress=False
    )
    index.tune(half(queries, 0)[0], target=0.9, k=K, progress=False)
    assert index.profiles["tuned"].refine is not None
    assert agreement(index, vectors, (half(queries, 1)[0], None), profile="tuned")[0] > 0.87


def test_bad_input_stores_nothing(made):
    index, (_, vectors, queries, _) = fresh(made), made
    own = half(queries, 0)
    for said, bad in [
        ("at least 20", {"queries": own[0][:5], "texts": own[1][:5]}),
        ("Only one of", {"queries": own[0], "texts": own[1], "target": 0.9, "budget": 5}),
        ("'target'.*from 0 to 1", {"queries": own[0], "target": 3}),
        ("at least what the cheapest setting takes", {"queries": own[0], "latency": 1e-8}),
        ("one list of ids a query", {"queries": own[0], "relevant": [[1]]}),
        ("ids of documents in the index", {"queries": own[0], "relevant": [[10**6]] * len(own[0])}),
        ("at least 20 queries with a relevant", {"queries": own[0], "relevant": [[1]] * 5 + [[]] * (len(own[0]) - 5)}),
        ("one list of ids a query. Got None", {"queries": own[0], "relevant": [None] * len(own[0])}),
        ("'relevant'", {"queries": own[0], "relevant": [[1.5]] * len(own[0])}),
        ("'name'.*left out without", {"queries": own[0], "name": "mine"}),
        ("'k'", {"queries": own[0], "k": 0}),
        ("'vectors'", {"queries": own[0][:, :3]}),
    ]:
        with pytest.raises(InvalidParameter, match=said):
            index.tune(**{"k": K, "progress": False, **bad})
        assert not index.profiles
    halves = ["one" if i % 2 else "other" for i in range(len(vectors))]  # a query for "one" cannot reach "other"
    terms = hi2.BM25(tokenizer=hi2.WordTokenizer())
    other = hi2.HybridIndex.build(vectors, halves, clusters=None, terms=terms, progress=False)
    with pytest.raises(InvalidParameter, match=r"at most what a setting reaches, 0\.\d+ with room for chance"):
        other.tune(own[0], ["one"] * len(own[0]), target=0.9, k=K, progress=False)
    assert not other.profiles


def test_the_front_is_plotted(made, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra 'plots'")
    fresh(made).tune(*half(made[2], 0), k=K, progress=False).plot(tmp_path / "front.svg")
    assert "<svg" in (tmp_path / "front.svg").read_text()
