"""Tuned targets hold on unseen queries, limits are kept, and bad input stores nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hi2
from hi2.codecs import OPQ
from hi2.errors import InvalidParameter
from hi2.search.effort import DEFAULT_LEXICAL
from hi2.store.trained_parts import Parts
from hi2.tuning.judged import read_relevant
from hi2.tuning.word_weight import learn_weight
from tuning_sample import K, agreement, fresh, half


def unit_weight(index, queries, row):
    """Return what BM25 is worth beside dense scores of a query."""
    words = index.model.terms.query_terms([queries[1][row]], 0)[3]
    return index.model.evidence.spread * index.model.native.word_weight(queries[0][row], words)


def brute_force(index, vectors, queries, weight):
    """Return the K best of every query by vectors and words, of all documents."""
    scores = queries[0] @ vectors.T
    every = index.search(*queries, k=len(vectors), clusters=10**6, lexical=1.0)
    for row, (ids, own, count) in enumerate(zip(every.ids, every.lexical, every.counts, strict=True)):
        scores[row, ids[:count].astype(int)] += weight * unit_weight(index, queries, row) * own[:count]
    return np.argsort(-scores, axis=1, kind="stable")[:, :K]


def share_found(rows, relevant):
    return np.mean([len(set(a.tolist()) & set(b)) / len(b) for a, b in zip(rows, relevant, strict=True)])


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
    whole = share_found(brute_force(index, made[1], seen, tuned.lexical.weight), relevant)
    own = share_found(index.search(*seen, k=K, profile="tuned").ids, relevant)
    assert own >= 0.9 * whole
    if index.profiles["tuned"].adaptive is None:  # adaptive search was tried with the weights of other folds
        assert index.profiles["tuned"].promise["recall"] == pytest.approx(own / whole)


def test_queries_without_labels_are_left_out(made):
    index, (_, _, queries, labels) = fresh(made), made
    seen = half(queries, 0)
    known = [np.flatnonzero(labels == topic)[:5].tolist() for topic in queries[2][0::2]]
    some = [own if i >= 80 else [] for i, own in enumerate(known)]
    tuned = index.tune(*seen, relevant=some, target=0.9, k=K, progress=False)
    assert tuned.n_queries == len(known) - 80
    assert tuned.lexical.n_queries == len(known) - 80
    labelled = seen[0][80:], seen[1][80:]
    whole = share_found(brute_force(index, made[1], labelled, tuned.lexical.weight), some[80:])
    own = share_found(index.search(*labelled, k=K, profile="tuned").ids, some[80:])
    assert index.profiles["tuned"].promise["recall"] == pytest.approx(own / whole, abs=0.35)


def test_labels_teach_every_profile_the_weight_of_words(made):
    index, (_, vectors, queries, _) = fresh(made), made
    seen = half(queries, 0)
    relevant = brute_force(index, vectors, seen, 0.07)[:, :5].tolist()
    tuned = index.tune(*seen, relevant=relevant, k=K, progress=False)
    assert tuned.lexical.weight == 0.07
    assert tuned.lexical.ndcg > 0.99  # it is the weight that the labels were made with
    assert tuned.lexical.gain > 0.05
    assert tuned.lexical.gain_over_default == pytest.approx(
        tuned.lexical.ndcg - tuned.lexical.tried[DEFAULT_LEXICAL], abs=0.005
    )
    assert tuned.lexical.gain_over_default > 0.03
    assert {name: own.lexical for name, own in index.profiles.items()} == dict.fromkeys(
        ("fast", "balanced", "exact"), tuned.lexical.weight
    )
    assert str(tuned.lexical) in str(tuned)
    assert f"words add {100 * tuned.lexical.gain:.1f} ± " in str(tuned)
    hits = index.search(*seen, k=K, profile="exact")
    units = np.array([unit_weight(index, seen, row) for row in range(len(seen[0]))])[:, None]
    weighed = tuned.lexical.weight * units * hits.lexical
    np.testing.assert_allclose(hits.scores, hits.dense + weighed, rtol=1e-5)
    assert index.search(*seen, k=K, profile="exact", lexical=0).lexical is None
    unseen = half(queries, 1)
    wanted = brute_force(index, vectors, unseen, 0.07)[:, :5].tolist()
    shares = [
        share_found(index.search(*unseen, k=K, profile="exact", **given).ids[:, :5], wanted)
        for given in ({}, {"lexical": 0}, {"lexical": DEFAULT_LEXICAL})
    ]
    assert shares[0] > max(shares[1:]) + 0.02


def test_grades_teach_as_ids_do(made):
    index, (_, vectors, queries, _) = fresh(made), made
    seen = queries[0][:30], queries[1][:30]
    relevant = brute_force(index, vectors, seen, 0.07)[:, :5].tolist()
    graded = [{**dict.fromkeys(own, 1), 1999: 0} for own in relevant]
    one, other = (index.tune(*seen, relevant=given, target=0.9, k=K, progress=False) for given in (relevant, graded))
    assert one.lexical == other.lexical
    assert one.profiles["tuned"].lexical == other.profiles["tuned"].lexical == one.lexical.weight


def test_without_labels_profiles_rank_by_vectors_alone(made):
    index, (_, _, queries, _) = fresh(made), made
    tuned = index.tune(*half(queries, 0), target=0.9, k=K, progress=False)
    assert tuned.lexical is None
    assert index.profiles["tuned"].lexical == 0
    assert all(own.arguments["lexical"] == 0 for own in tuned.front)
    assert "words" not in str(tuned)
    assert index.search(*half(queries, 0), k=K, profile="tuned").lexical is None
    assert index.search(*half(queries, 0), k=K).lexical is not None


def test_without_bags_or_without_texts_nothing_is_learned_of_words(made):
    _, vectors, queries, labels = made
    seen = half(queries, 0)
    relevant = [np.flatnonzero(labels == topic)[:5].tolist() for topic in queries[2][0::2]]
    model = made[0].model
    terms = hi2.BM25(tokenizer=hi2.WordTokenizer())
    texts = ["some words"] * len(vectors)
    bare = hi2.HybridIndex.build(
        vectors, texts, clusters=model.clusters, terms=terms, codec=hi2.Flat(), bags=False, progress=False
    )
    for index, asked in ((bare, seen), (fresh(made), (seen[0], None))):
        tuned = index.tune(*asked, relevant=relevant, target=0.8, k=K, progress=False)
        assert tuned.lexical is None
        assert index.profiles["tuned"].lexical == 0


def test_the_weight_is_learned_on_top_of_a_trained_map_of_queries(made):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    from hi2.training.query_map_folding import fold_query_map

    index, (_, vectors, queries, _) = made[0], made
    seen = queries[0][:40], queries[1][:40]
    relevant = brute_force(index, vectors, seen, 0.07)[:, :5].tolist()
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((16, 16)))[0].astype(np.float32)
    codec = OPQ(subspaces=8).fit(vectors, threads=1)
    clusters, mapping_codec = fold_query_map(turn, index.model.clusters, codec)
    plain, mapped = (
        index.refit(Parts(replace(index.model, **parts)), vectors=vectors)
        for parts in ({"codec": codec}, {"clusters": clusters, "codec": mapping_codec})
    )
    grades = read_relevant(relevant, len(relevant))
    expected, unmapped = (learn_weight(own._index.state, *seen, grades) for own in (plain, mapped))
    tuned = mapped.tune(seen[0] @ turn, seen[1], relevant=relevant, target=0.8, k=K, progress=False)
    assert tuned.lexical.weight == expected.weight
    assert 0 < expected.weight < 0.2
    assert tuned.lexical.tried == pytest.approx(expected.tried, abs=0.01)  # ties within rounding may differ
    assert mapped.profiles["tuned"].lexical == expected.weight
    assert unmapped.tried[0.0] < expected.tried[0.0] - 0.1  # so it is the map that finds them


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
        ("one list of ids per query", {"queries": own[0], "relevant": [[1]]}),
        ("ids of documents in the index", {"queries": own[0], "relevant": [[10**6]] * len(own[0])}),
        ("at least 20 queries with a relevant", {"queries": own[0], "relevant": [[1]] * 5 + [[]] * (len(own[0]) - 5)}),
        ("one mapping from ids to grades. Got None", {"queries": own[0], "relevant": [None] * len(own[0])}),
        ("'relevant'", {"queries": own[0], "relevant": [[1.5]] * len(own[0])}),
        ("'relevant'.*a number", {"queries": own[0], "relevant": [{1: "x"}] * len(own[0])}),
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
