"""Experiments measure each system once, resume, and know what a result depends on."""

from __future__ import annotations

import numpy as np
import pytest

from hi2.evaluation import experiment as lab
from hi2.evaluation import trial
from hi2.evaluation.experiment import _pareto_front, _systems_in_order
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.measures import Measure
from hi2.evaluation.plan import Plan
from hi2.evaluation.results import Results, collect_lines
from hi2.evaluation.task import load_task
from lab_plan import POINTS, SILENT, measured


def test_an_experiment_resumes_and_tests_its_systems(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    lines = measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)
    assert [line["system"] for line in lines] == ["Flat", "hi2 Flat", "faiss IVF-Flat"]
    for line in lines:
        assert line["manifest"] == task.manifest
        assert line["machine"]["simd"] in ("scalar", "avx2")
        assert set(line["measures"]) == {"R@100", "RR@10", "R@1000", "agreement@10", "agreement@100"}
        low, high = line["intervals"]["R@100"]
        assert low <= line["measures"]["R@100"] <= high
    assert set(lines[2]["p"]) == set(lines[2]["measures"])
    assert "p" not in lines[1]
    stored = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(stored) == 3

    def fail(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr(trial.Trial, "measure", fail)
    assert [line["key"] for line in measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)] == [
        line["key"] for line in lines
    ]


def test_bm25_rescores_as_many_documents_as_hi2_scores(task, tmp_path):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    plan = Plan("mine", "Mine", "points", ["BM25 rescored", "hi2"], ["R@100"], against="hi2")
    lines = measured(plan, task, Results(tmp_path), Inputs(), SILENT)
    rescored, own = (line for line in lines if line["system"] != "Flat")
    assert (rescored["system"], own["system"]) == ("BM25 rescored", "hi2")
    assert rescored["setting"] == {"n": max(100, round(own["scored_tuning"]))}


def test_an_interrupted_experiment_is_resumed(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    measure, calls = trial.Trial.measure, []

    def interrupted(self, *arguments, **options):
        calls.append(self.peer.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(self, *arguments, **options)

    monkeypatch.setattr(trial.Trial, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)
    assert len(Results(tmp_path).lines) == 1
    lines = measured(POINTS, task, Results(tmp_path), Inputs(), SILENT)
    assert calls == ["Flat", "hi2 Flat", "hi2 Flat", "faiss IVF-Flat"]
    assert len(lines) == 3


def test_several_experiments_build_a_system_once(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    build, built = trial.Trial.build.__func__, []

    def counted(cls, peer, task, **options):
        built.append(peer.name)
        return build(cls, peer, task, **options)

    monkeypatch.setattr(trial.Trial, "build", classmethod(counted))
    curves = Plan("other", "Other", "curves", ["hi2 Flat"], ["R@100"], axis="scored")
    results = Results(tmp_path)
    lab.run([POINTS, curves], task, results, Inputs(), SILENT)
    assert built == ["Flat", "hi2 Flat", "faiss IVF-Flat"]
    assert {line["system"] for line in collect_lines(POINTS, results)} == {"Flat", "hi2 Flat", "faiss IVF-Flat"}
    assert {line["system"] for line in collect_lines(curves, results)} == {"Flat", "hi2 Flat"}


def test_a_result_key_depends_on_vectors_questions_machine_and_inputs(folder, tmp_path):
    one = load_task(folder, vectors=folder / "given", progress=SILENT)
    other = tmp_path / "elsewhere" / "given"
    other.mkdir(parents=True)
    np.save(other / "corpus.npy", one.vectors[::-1])
    np.save(other / "queries.npy", np.load(folder / "given" / "queries.npy"))
    tasks = [
        one,
        load_task(folder, vectors=other, progress=SILENT),
        load_task(folder, vectors=folder / "given", limit=10, progress=SILENT),
    ]
    assert len({task.fingerprint for task in tasks}) == 3
    here = lab.machine()
    keys = {lab._result_key(POINTS, task, "Flat", Inputs(), here) for task in tasks}
    keys.add(lab._result_key(POINTS, one, "Flat", Inputs(), {**here, "threads": here["threads"] + 1}))
    for text in ("first", "second, longer"):
        (tmp_path / "expansions.txt").write_text(text)
        keys.add(lab._result_key(POINTS, one, "DocT5", Inputs(tmp_path / "expansions.txt"), here))
    assert len(keys) == 6


QUALITY = Plan(
    "words",
    "Words",
    "quality",
    ["BM25", "RRF (BM25 + HNSW32)", "convex (BM25 + Flat)", "hi2 Flat"],
    ["nDCG@10", "R@100"],
    against="hi2 Flat",
    settings={"hi2 Flat": [{"clusters": [2, 8], "per_doc": 7}]},
)


def test_systems_at_their_best_are_measured_together_or_not_at_all(task, tmp_path, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    measure = lab.measure_in_turns

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(lab, "measure_in_turns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measured(QUALITY, task, Results(tmp_path), Inputs(), SILENT)
    assert Results(tmp_path).lines == []
    monkeypatch.setattr(lab, "measure_in_turns", measure)
    lines = measured(QUALITY, task, Results(tmp_path), Inputs(), SILENT)
    assert [line["system"] for line in lines] == ["Flat", *QUALITY.systems]
    assert len({line["together"] for line in lines}) == 1
    for line in lines:
        assert set(line["measures"]) == {"nDCG@10", "R@100"}
        highest = max(one["nDCG@10"] for one in line["swept"])
        (chosen,) = (one for one in line["swept"] if one["setting"] == line["setting"])
        assert chosen["nDCG@10"] >= highest - 0.001
        assert ("p" in line) == (line["system"] != "hi2 Flat")
    assert {len(line["swept"]) for line in lines if line["system"] == "hi2 Flat"} == {2}
    monkeypatch.setattr(lab, "measure_in_turns", interrupted)  # all is known: nothing is measured again
    again = measured(QUALITY, task, Results(tmp_path), Inputs(), SILENT)
    assert [line["key"] for line in again] == [line["key"] for line in lines]


def test_another_set_of_systems_is_measured_anew_and_not_mixed_with_the_first(task, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    results = Results(tmp_path)
    few = QUALITY.for_systems(["BM25", "hi2 Flat"])
    measured(few, task, results, Inputs(), SILENT)
    more = QUALITY.for_systems(["BM25", "hi2 Flat", "faiss HNSW32"])
    lines = measured(more, task, results, Inputs(), SILENT)
    assert len(results.lines) == 3 + 4
    assert [line["system"] for line in lines] == ["Flat", *more.systems]
    assert len({line["together"] for line in lines}) == 1
    assert len({line["key"] for line in results.lines}) == 7


def test_a_graph_inside_a_fusion_searches_at_the_goal_that_the_graph_alone_reaches(task, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    lines = measured(QUALITY, task, Results(tmp_path), Inputs(), SILENT)
    (fused,) = (line for line in lines if line["system"] == "RRF (BM25 + HNSW32)")
    flat = trial.Trial.build(Inputs().system("Flat", task), task, threads=1)
    graph = trial.Trial.build(Inputs().system("faiss HNSW32", task), task, threads=1)
    questions = graph.tuning_questions
    rows = graph.rows(questions, {"efSearch": fused["setting"]["efSearch"]}, 100)
    reached = graph.values(questions, rows, Measure("R", 100)).mean()
    assert reached >= 0.99 * flat.tuning_recall() - 0.01  # the graphs were built apart
    assert len({one["setting"]["efSearch"] for one in fused["swept"]}) == 1


def test_brute_force_and_hi2_are_measured_first():
    plans = [Plan("a", "A", "points", ["BM25", "hi2"], []), Plan("b", "B", "points", ["Flat", "BM25", "hi2 Flat"], [])]
    assert _systems_in_order(plans) == ["Flat", "hi2", "BM25", "hi2 Flat"]


def test_a_curve_keeps_the_settings_that_no_other_beats(task):
    flat = Inputs().system("Flat", task)
    pairs = [(3.0, 0.5), (1.0, 0.2), (2.0, 0.1), (2.5, 0.2), (4.0, 0.9), (5.0, 0.9)]
    swept = [trial.SweptSetting({"n": i}, recall, seconds) for i, (seconds, recall) in enumerate(pairs)]
    assert [one.setting["n"] for one in _pareto_front(trial.Trial(flat, task, swept=swept))] == [1, 0, 4]
    many = [trial.SweptSetting({"n": i}, i / 100, float(i)) for i in range(100)]
    front = _pareto_front(trial.Trial(flat, task, swept=many))
    assert len(front) == 12
    assert (front[0].setting["n"], front[-1].setting["n"]) == (0, 99)
