"""Every system is tuned and measured in the same way."""

from __future__ import annotations

import pytest

from hi2.evaluation import trial
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.measures import Measure, agreement, mean_recall


def test_an_outcome_agrees_with_the_measures(task):
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    exact = flat.rows(task.test, {}, 100)
    outcome = flat.measure({}, [Measure("R", 100), Measure("RR", 10), Measure("R", 1000)], exact)
    found = [[task.ids[row] for row in rows] for rows in exact]
    relevant = [task.test.judged.relevant(id) for id in task.test.ids]
    assert outcome.values["R@100"].mean() == pytest.approx(mean_recall(found, relevant, k=100))
    ranks = [next(r for r, id in enumerate(own, 1) if id in known) for own, known in zip(found, relevant, strict=True)]
    assert outcome.values["RR@10"].tolist() == [1 / rank if rank <= 10 else 0.0 for rank in ranks]
    assert outcome.values["agreement@100"].mean() == 1.0
    assert agreement(exact, exact, k=100) == 1.0
    assert outcome.milliseconds["p50"] <= outcome.milliseconds["p95"] <= outcome.milliseconds["p99"]
    assert outcome.throughput > 0
    assert flat.build_peak_bytes is None or flat.build_peak_bytes >= 0


def test_a_system_without_batch_search_has_no_throughput(task):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    fused = trial.Trial.build(Inputs().system("RRF (BM25 + Flat)", task), task, threads=1)
    setting = {"depth": 100, "constant": 60}
    outcome = fused.measure(setting, [Measure("R", 100)], fused.rows(task.test, setting, 100))
    assert outcome.throughput is None


def test_tuning_takes_the_fastest_setting_that_reaches_the_goal(task):
    peer = Inputs().system("faiss IVF-Flat", task)
    one = trial.Trial.build(peer, task, threads=1)
    chosen = one.tune(0.9)
    reached = [t for t in one.swept if t.recall >= 0.9]
    assert chosen.seconds == min(t.seconds for t in reached)
    impossible = trial.Trial(peer, task)
    assert impossible.tune(2.0).recall == max(t.recall for t in impossible.swept)


def test_parts_of_recall_add_up(task):
    one = trial.Trial.build(Inputs().system("hi2 OPQ", task), task, threads=1)
    outcome = one.measure({"clusters": 3, "per_doc": 5}, [Measure("R", 100)], one.rows(task.test, {"clusters": 3}, 100))
    parts = outcome.recall_parts
    assert parts["candidate_recall"] >= parts["exact_recall"] - 1e-9
    assert parts["exact_recall"] - parts["codec_loss"] == pytest.approx(outcome.values["R@100"].mean())
    assert sum(parts[f"by_{side}"] for side in ("clusters_only", "terms_only", "both")) == pytest.approx(1.0)


def test_codec_loss_is_measured_with_mapped_queries(task, monkeypatch):
    peer = Inputs().system("hi2 Flat", task)
    one = trial.Trial.build(peer, task, threads=1)
    setting = {"clusters": 3, "per_doc": 5}
    plain = one._recall_parts(setting, one.rows(task.test, setting, 100))
    assert plain["codec_loss"] == pytest.approx(0.0, abs=1e-6)
    monkeypatch.setattr(peer, "asked", lambda vector: -vector)
    monkeypatch.setattr(trial, "K", 5)  # with 100 hits everything would be found either way
    turned = one._recall_parts(setting, one.rows(task.test, setting, 5))
    assert turned["exact_recall"] < 0.9 * plain["exact_recall"]


def test_questions_that_were_timed_are_not_searched_again(task, monkeypatch):
    monkeypatch.setattr(trial, "N_TIMED_QUESTIONS", 3)
    monkeypatch.setattr(trial, "N_TIMED_TUNING_QUESTIONS", 3)
    one = trial.Trial.build(Inputs().system("hi2 Flat", task), task, threads=1)
    setting = {"clusters": 3, "per_doc": 5}
    depths = []
    search = one.peer.search
    monkeypatch.setattr(one.peer, "search", lambda *given: depths.append(given[2]) or search(*given))
    outcome = one.measure(setting, [Measure("R", 100)], one.rows(task.test, setting, 100))
    assert outcome.rows == one.rows(task.test, setting, 100)
    n = len(task.test.ids)
    warm, passes = min(20, n), 3 * 3
    assert len(depths) == n + (warm + passes + n - 3) + n  # this test, the measure, this test again


def test_a_part_is_tuned_by_itself_on_the_tuning_questions(task, monkeypatch):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    one = trial.Trial.build(Inputs().system("convex (BM25 + HNSW32)", task), task, threads=1)
    part, asked = one.peer.part.peer, []
    sweep = [{"efSearch": 100}, {"efSearch": 2000}]
    search = part.search
    monkeypatch.setattr(part, "sweep", lambda: sweep)
    monkeypatch.setattr(part, "search", lambda *given: asked.append(given[1]) or search(*given))
    chosen = one.tune_part(0.0)
    assert chosen in sweep
    assert {setting["efSearch"] for setting in one.peer.sweep()} == {chosen["efSearch"]}
    assert set(asked) == set(task.tune.texts)
    asked.clear()
    assert one.tune_part(0.0) == chosen
    assert asked == []
    flat = trial.Trial.build(Inputs().system("convex (BM25 + Flat)", task), task, threads=1)
    assert flat.tune_part(0.9) == {}


def test_a_part_takes_the_setting_that_reaches_the_goal(task, monkeypatch):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    one = trial.Trial.build(Inputs().system("RRF (BM25 + HNSW32)", task), task, threads=1)
    monkeypatch.setattr(one.peer.part.peer, "sweep", lambda: [{"efSearch": n} for n in (1, 2000)])
    narrow = one.peer.part.peer.search
    # faiss searches with at least k candidates, so a narrow search is one that returns few.
    monkeypatch.setattr(
        one.peer.part.peer,
        "search",
        lambda vector, text, k, setting: narrow(vector, text, k, setting)[1 if setting["efSearch"] == 1 else 0 :],
    )
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    assert one.tune_part(0.99 * flat.tuning_recall()) == {"efSearch": 2000}


def test_the_goal_is_measured_on_the_tuning_questions(task, monkeypatch):
    monkeypatch.setattr(trial, "N_TUNING_QUESTIONS", 3)
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    some = task.tune.first(3)
    assert flat.tuning_recall() == pytest.approx(flat.values(some, flat.rows(some, {}, 100), Measure("R", 100)).mean())


def test_deep_measures_use_a_deep_search(task):
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    n = len(task.ids)
    outcome = flat.measure({}, [Measure("R", n)], flat.rows(task.test, {}, 100), brief=True)
    assert outcome.values[f"R@{n}"].mean() == 1.0
    assert {len(rows) for rows in outcome.rows} == {n}
