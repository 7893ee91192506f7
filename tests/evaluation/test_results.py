"""Result lines are kept on disk and collected per experiment."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.evaluation import experiment as lab
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.plan import Plan
from hi2.evaluation.results import Results, collect_lines
from hi2.evaluation.significance import paired_p
from hi2.evaluation.task import load_task
from lab_plan import POINTS, SILENT


def test_a_truncated_results_file_is_named(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"key": "a"}\n{"key": "b')
    with pytest.raises(hi2.InvalidParameter, match=r"results\.jsonl, line 2: not JSON"):
        Results(tmp_path)


def test_runs_over_different_questions_are_not_mixed(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    results = Results(tmp_path)
    whole = load_task(folder, vectors=folder / "given", progress=SILENT)
    lab.run([POINTS], whole, results, Inputs(), SILENT)
    fewer = load_task(folder, vectors=folder / "given", limit=9, progress=SILENT)
    lab.run([POINTS.for_systems(["hi2 Flat"])], fewer, results, Inputs(), SILENT)
    lines = collect_lines(POINTS, results)
    assert {line["n_queries"] for line in lines} == {9}
    assert {line["system"] for line in lines} == {"Flat", "hi2 Flat"}


def line(key, system, **more):
    machine = {"cpu": "x", "threads": 2}
    common = {"experiment": "mine", "collection": "c", "encoder": "e", "task": "t", "machine": machine}
    return {**common, "key": key, "system": system, "measures": {"R@10": 0.5}, **more}


def test_lines_and_values_read_back_as_they_were_added(tmp_path):
    results = Results(tmp_path / "out")
    results.add([line("a", "Flat"), line("a", "Flat", variant="ü")], {"R@10": np.array([0.0, 1.0])})
    again = Results(tmp_path / "out")
    assert again.lines == results.lines
    assert again.lines_of("a") == results.lines
    assert again.lines_of("b") == []
    assert again.values("a")["R@10"].tolist() == [0.0, 1.0]


def test_systems_are_tested_against_the_reference_and_missing_ones_are_named(tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    plan = Plan("mine", "Mine", "points", ["hi2", "BM25", "DocT5"], ["R@10"], against="hi2")
    random = np.random.default_rng(0)
    values = {name: random.random(20) for name in ("Flat", "hi2", "BM25")}
    results = Results(tmp_path)
    for key in ("BM25", "hi2", "Flat"):
        results.add([line(key, key)], {"R@10": values[key]})
    flat, hi2_line, bm25, missing = collect_lines(plan, results)
    assert [own["system"] for own in (flat, hi2_line, bm25, missing)] == ["Flat", "hi2", "BM25", "DocT5"]
    assert "predicted questions" in missing["absent"]
    assert "p" not in hi2_line
    raw = {own["system"]: paired_p(values[own["system"]], values["hi2"]) for own in (flat, bm25)}
    smaller = min(raw, key=raw.get)
    corrected = {own["system"]: own["p"]["R@10"] for own in (flat, bm25)}
    assert corrected[smaller] == pytest.approx(min(1.0, 2 * raw[smaller]))


def test_the_last_lines_of_a_system_count_and_other_measures_do_not(tmp_path):
    plan = Plan("mine", "Mine", "curves", ["hi2"], ["R@10"])
    results = Results(tmp_path)
    for key, system, measures in (
        ("1", "Flat", {"R@10": 0.1}),
        ("2", "hi2", {"R@10": 0.2}),
        ("3", "hi2", {"R@10": 0.3}),
        ("4", "hi2", {"R@5": 0.4}),
    ):
        results.add([line(key, system, measures=measures)], {})
    assert [own["key"] for own in collect_lines(plan, results)] == ["1", "3"]


def test_lines_written_together_are_seen_together(tmp_path, monkeypatch):
    results = Results(tmp_path)
    systems = [([line(key, key)], {"R@10": np.array([n])}) for n, key in enumerate(("Flat", "hi2"))]
    results.add_together(systems)
    again = Results(tmp_path)
    assert [own["key"] for own in again.lines] == ["Flat", "hi2"]
    assert again.values("hi2")["R@10"].tolist() == [1]

    def fail(*_, **__):
        raise OSError("full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="full"):
        results.add_together([([line("a", "a")], {}), ([line("b", "b")], {})])
    assert Results(tmp_path).lines == again.lines


def test_systems_that_took_turns_are_shown_with_each_other_only(tmp_path):
    plan = Plan("mine", "Mine", "quality", ["hi2", "BM25"], ["R@10"])
    results = Results(tmp_path)
    results.add_together([([line(f"1{own}", own, together="1")], {}) for own in ("Flat", "hi2", "BM25")])
    results.add_together([([line(f"2{own}", own, together="2")], {}) for own in ("Flat", "hi2")])
    assert [own["key"] for own in collect_lines(plan, results)] == ["2Flat", "2hi2"]
