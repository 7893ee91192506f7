"""Result lines are kept on disk and collected per experiment."""

from __future__ import annotations

import pytest

import hi2
from hi2.evaluation import experiment as lab
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.results import Results, collect_lines
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
