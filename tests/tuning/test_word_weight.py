"""The weight of words follows the queries where they are clear, stays at the default where they are not."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation.measures import Measure
from hi2.search.effort import DEFAULT_LEXICAL
from hi2.tuning.word_weight import WEIGHTS, _caution, choose, learn_weight, ndcg, weigh

DEFAULT = WEIGHTS.index(DEFAULT_LEXICAL)


def queries_like(means, n, seed, noise=0.08):
    """Return values of n queries with these means. Neighbouring weights give a query similar values."""
    steps = np.random.default_rng(seed).standard_normal((n, len(WEIGHTS))) * noise
    return 0.5 + np.asarray(means) + np.cumsum(steps, axis=1) - np.cumsum(steps, axis=1)[:, [DEFAULT]]


def peak(at, height=0.3):
    """Return means with a maximum at one weight."""
    return -height * (np.abs(np.arange(len(WEIGHTS)) - WEIGHTS.index(at)) / len(WEIGHTS)) ** 1.5


def test_thirty_queries_choose_no_extreme_by_chance():
    chosen = [choose(queries_like(np.zeros(len(WEIGHTS)), 30, seed)) for seed in range(300)]
    best = [int(queries_like(np.zeros(len(WEIGHTS)), 30, seed).mean(axis=0).argmax()) for seed in range(300)]
    extremes = (0, len(WEIGHTS) - 1)
    assert np.isin(best, extremes).mean() > 0.25  # what the best mean alone would choose
    assert np.isin(chosen, extremes).mean() < 0.1
    assert np.mean(np.array(chosen) == DEFAULT) > 0.5


@pytest.mark.parametrize("at", [0.0, 0.05, 0.3, 0.7, 2.0])
def test_many_queries_choose_the_best_weight_or_one_beside_it(at):
    for seed in range(5):
        assert abs(choose(queries_like(peak(at), 3000, seed)) - WEIGHTS.index(at)) <= 1


def test_sixty_queries_move_the_weight_towards_the_best():
    chosen = np.array([choose(queries_like(peak(0.05, 0.8), 60, seed)) for seed in range(50)])
    assert (chosen < DEFAULT).mean() > 0.9
    chosen = np.array([choose(queries_like(peak(1.0, 0.8), 60, seed)) for seed in range(50)])
    assert (chosen > DEFAULT).mean() > 0.9


def test_more_queries_need_less_caution():
    """Two hundred queries show a difference that fifty do not: three quarters of a standard error."""
    assert [_caution(n) for n in (20, 50, 72, 200, 5000)] == pytest.approx([1, 1, (50 / 72) ** 0.5, 0.5, 0.5])
    better = WEIGHTS.index(1.0)
    values = np.zeros((200, len(WEIGHTS)))
    noise = np.tile([1.0, -1.0], 100)
    for column in range(len(WEIGHTS)):
        distance = abs(column - better)
        values[:, column] = distance * (noise - 0.75 * noise.std(ddof=1) / 200**0.5)
    assert choose(values[:50]) == DEFAULT
    assert choose(values) != DEFAULT


def test_words_that_gain_nothing_get_no_weight():
    hurt = -np.array(WEIGHTS)
    learned = weigh(queries_like(hurt, 100, 0))
    assert (learned.weight, learned.gain, learned.standard_error) == (0.0, 0.0, 0.0)
    assert learned.gain_over_default == pytest.approx(0.3, abs=0.05)
    assert str(learned).startswith("words hurt here: lexical=0 is best, and the default 0.3 costs ")


def test_the_gain_is_not_better_than_it_is():
    flat = np.zeros(len(WEIGHTS))
    samples = [queries_like(flat, 30, seed) for seed in range(300)]
    best = [float(own.mean(axis=0).max() - own[:, DEFAULT].mean()) for own in samples]
    said = [weigh(own).gain_over_default for own in samples]
    assert np.mean(best) > 0.03  # though no weight is better than another
    assert np.mean(said) < np.mean(best) / 5


def test_a_default_that_stays_is_measured_on_all_queries():
    values = queries_like(peak(DEFAULT_LEXICAL), 200, 3)
    learned = weigh(values)
    gains = values[:, DEFAULT] - values[:, 0]
    assert learned.weight == DEFAULT_LEXICAL
    assert learned.ndcg == pytest.approx(values[:, DEFAULT].mean())
    assert learned.gain == pytest.approx(gains.mean())
    assert learned.standard_error == pytest.approx(gains.std(ddof=1) / np.sqrt(200))
    assert (learned.gain_over_default, learned.standard_error_over_default) == (0.0, 0.0)
    assert learned.tried == pytest.approx(dict(zip(WEIGHTS, values.mean(axis=0), strict=True)))
    assert learned.n_queries == 200
    points = f"{100 * gains.mean():.1f} ± {100 * learned.standard_error:.1f} points of nDCG@10"
    assert str(learned) == f"words add {points} with lexical=0.3, the default"


def test_another_weight_is_measured_on_queries_it_was_not_chosen_on():
    values = queries_like(peak(1.0, 0.8), 400, 1)
    learned = weigh(values)
    assert learned.weight > DEFAULT_LEXICAL
    assert learned.gain_over_default == pytest.approx(learned.ndcg - values[:, DEFAULT].mean())
    assert learned.gain == pytest.approx(learned.ndcg - values[:, 0].mean())
    assert f"with lexical={learned.weight:g}, {100 * learned.gain_over_default:.1f} ± " in str(learned)
    assert str(learned).endswith("more than the default 0.3")


def test_ndcg_is_that_of_the_lab():
    ids = np.array([list("abcdefghijkl"), list("lkjihgfedcba")], dtype=object)
    hits = hi2.Hits(ids, np.zeros((2, 12)), np.full(2, 12), np.array([12, 3]))
    grades = [{"b": 1.0, "d": 2.0, "l": 1.0, "x": 1.0}, {"k": 1.0, "a": 3.0}]
    expected = [
        Measure("nDCG", 10)([own.get(id, 0) for id in row[:count]], sorted(own.values(), reverse=True))
        for row, count, own in zip(ids.tolist(), (12, 3), grades, strict=True)
    ]
    np.testing.assert_allclose(ndcg(hits, grades), expected)
    assert ndcg(hits, [{}, {}]).tolist() == [0.0, 0.0]


@pytest.fixture(scope="module")
def mixed():
    """Return an index whose vectors and words know nothing of each other, and queries for both."""
    random = np.random.default_rng(6)

    def unit(n):
        vectors = random.standard_normal((n, 16))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)]
    texts = [" ".join(random.choice(words, 6, replace=False)) for _ in range(1500)]
    index = hi2.HybridIndex.build(
        unit(1500), texts, terms=hi2.BM25(tokenizer="words"), codec=hi2.Flat(), progress=False
    )
    asked = [" ".join(texts[i].split()[:3]) for i in range(60)]
    return index, unit(60), asked


def learned_from(index, queries, texts, **wanted):
    hits = index.search(queries, texts, k=3, clusters=index.model.n_clusters, **wanted)
    return learn_weight(index._index.state, queries, texts, [dict.fromkeys(row, 1.0) for row in hits.ids.tolist()])


def test_words_decide_where_labels_follow_words(mixed):
    index, queries, texts = mixed
    hits = index.search(None, texts, k=3)
    grades = [dict.fromkeys(row, 1.0) for row in hits.ids.tolist()]
    learned = learn_weight(index._index.state, queries, texts, grades)
    assert learned.weight > DEFAULT_LEXICAL
    assert learned.gain > 0.5
    assert learned.gain_over_default > 0
    found = [ndcg(index.search(queries, texts, k=10, lexical=w), grades).mean() for w in (0.0, 0.5)]
    assert [learned.tried[w] for w in (0.0, 0.5)] == pytest.approx(found)


def test_words_get_no_weight_where_labels_follow_vectors(mixed):
    index, queries, texts = mixed
    learned = learned_from(index, queries, texts, lexical=0)
    assert learned.weight == 0
    assert learned.tried[0.0] > 0.7
    assert learned.gain_over_default > 0


def test_queries_without_text_count_for_no_weight(mixed):
    index, queries, texts = mixed
    learned = learned_from(index, queries, [None] * len(texts), lexical=0)
    assert learned.weight == DEFAULT_LEXICAL
    assert learned.gain == 0
    assert len(set(learned.tried.values())) == 1
