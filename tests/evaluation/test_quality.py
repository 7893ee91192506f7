"""Each system is taken at its best setting on the tuning questions, and all are timed in turns."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation import quality
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.measures import Measure
from hi2.evaluation.peers.flat import FaissFlat
from hi2.evaluation.quality import TriedSetting, best_setting, choose_setting, measure_in_turns, search_depth
from hi2.evaluation.trial import Trial

NDCG, RECALL = Measure("nDCG", 10), Measure("R", 100)


class Skipping(FaissFlat):
    """Brute force that leaves out its first hits: the fewer, the better. It records what it is asked."""

    name = "skipping"
    settings = ({"skip": 5}, {"skip": 0}, {"skip": 1})

    def __init__(self):
        self.asked_for = []

    def search(self, vector, text, k, setting):
        self.asked_for.append((text, k, setting["skip"]))
        return super().search(vector, text, k + setting["skip"], {})[setting["skip"] :]

    def sweep(self):
        return list(self.settings)


@pytest.fixture
def skipping(task):
    return Trial.build(Skipping(), task, threads=1)


def test_the_best_setting_is_found_on_the_tuning_questions_alone(task, skipping):
    chosen = choose_setting(skipping, NDCG)
    assert chosen.setting == {"skip": 0}
    values = {one.setting["skip"]: one.value for one in chosen.tried}
    flat = Trial.build(FaissFlat(), task, threads=1)  # the two nearest documents are the relevant ones
    assert values[0] == pytest.approx(flat.values(task.tune, flat.rows(task.tune, {}, 10), NDCG).mean())
    assert values[0] > values[1] > values[5]
    assert {text for text, _, _ in skipping.peer.asked_for} == set(task.tune.texts)
    assert {k for _, k, _ in skipping.peer.asked_for} == {10}


def test_the_fastest_of_settings_that_are_nearly_as_good_is_taken():
    tried = [
        TriedSetting({"n": 1}, 0.7000, 9.0),
        TriedSetting({"n": 2}, 0.6993, 3.0),
        TriedSetting({"n": 3}, 0.6991, 4.0),
        TriedSetting({"n": 4}, 0.6985, 1.0),
    ]
    assert best_setting(tried).setting == {"n": 2}
    assert best_setting(tried[:1]).setting == {"n": 1}


def test_given_settings_replace_the_sweep(skipping):
    chosen = choose_setting(skipping, NDCG, [{"skip": 5}, {"skip": 1}])
    assert chosen.setting == {"skip": 1}
    assert len(chosen.tried) == 2
    with pytest.raises(hi2.InvalidParameter, match=r"skipping cannot be searched with \{'leap': 1\}"):
        choose_setting(skipping, NDCG, [{"leap": 1}])


def test_the_best_weight_of_a_fusion_is_found(task):
    """The relevant documents are the nearest ones, so the more weight vectors have, the better."""
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    trial = Trial.build(Inputs().system("convex (BM25 + Flat)", task), task, threads=1)
    tried = {one.setting["w"]: one.value for one in choose_setting(trial, NDCG).tried}
    assert max(tried, key=tried.get) == 0.9
    assert tried[0.9] > tried[0.5] > tried[0.1]


def test_given_settings_of_a_fusion_keep_the_setting_of_its_part(task):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    trial = Trial.build(Inputs().system("RRF (BM25 + HNSW32)", task), task, threads=1)
    part = trial.tune_part(0.5)
    chosen = choose_setting(trial, NDCG, [{"depth": 20, "constant": 3}])
    assert chosen.setting == {"depth": 20, "constant": 3, **part}


def test_a_measure_comes_from_the_search_with_as_few_hits_as_it_needs():
    assert [search_depth(Measure("R", k)) for k in (1, 10, 11, 100, 1000)] == [10, 10, 100, 100, 1000]


def test_searches_for_ten_and_for_a_hundred_hits_are_measured_apart(task):
    class Careless(Skipping):
        """It finds the best documents only if a hundred are asked for."""

        def search(self, vector, text, k, setting):
            return super().search(vector, text, k, {"skip": 0 if k == 100 else 5})

    own = choose_setting(Trial.build(Careless(), task, threads=1), NDCG, [{}])
    ((line, values),) = measure_in_turns([own], task.test, [NDCG, RECALL])
    flat = Trial.build(FaissFlat(), task, threads=1)
    exact = flat.rows(task.test, {}, 100)
    assert line["measures"]["R@100"] == flat.values(task.test, exact, RECALL).mean()
    assert line["measures"]["nDCG@10"] < 0.5 * flat.values(task.test, exact, NDCG).mean()
    assert len(values["nDCG@10"]) == len(task.test.ids)
    assert set(line["milliseconds_by_k"]) == {"10", "100"}
    assert line["milliseconds"] == line["milliseconds_by_k"]["10"]
    assert line["chosen_by"] == "nDCG@10"


def test_systems_take_turns(task, monkeypatch):
    monkeypatch.setattr(quality, "TURN", 7)
    monkeypatch.setattr(quality, "N_WARM_UP_QUESTIONS", 0)
    calls = []

    class Recorded(Skipping):
        def search(self, vector, text, k, setting):
            calls.append((self.label, text))
            return super().search(vector, text, k, setting)

    trials = [Trial.build(Recorded(), task, threads=1) for _ in range(3)]
    own = []
    for label, trial in enumerate(trials):
        trial.peer.label = label
        own.append(choose_setting(trial, NDCG, [{"skip": 0}]))
    calls.clear()
    questions = task.test.first(15)
    seconds = quality._time_in_turns(own, questions, 10)
    assert [len(times) for times in seconds] == [15, 15, 15]
    assert all(np.isfinite(times).all() and (times > 0).all() for times in seconds)
    begins = [0, 0, 0, 7, 7, 7, 14, 14, 14] * 3
    order = [0, 1, 2, 1, 2, 0, 2, 0, 1] * 3
    expected = [
        (label, text)
        for label, begin in zip(order, begins, strict=True)
        for text in questions.after(begin).first(7).texts
    ]
    assert calls == expected
