"""``hi2 experiment``: systems are measured once, and reported again from what is stored."""

from __future__ import annotations

import json

import pytest

from commands import refused, run

PLAN = 'title = "Mine"\nkind = "points"\nsystems = ["hi2 Flat", "DocT5"]\nmeasures = ["R@10"]\nagainst = "Flat"\n'


def test_results_are_kept_and_reported_again(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")
    (tmp_path / "mine.toml").write_text(PLAN)
    given = ("experiment", tmp_path / "mine.toml", "--data", folder, "--vectors", folder / "given")
    done = run(*given, "--out", tmp_path / "out")
    assert "mine.html and mine.md" in done.stdout
    stored = (tmp_path / "out" / "results.jsonl").read_text()
    assert [json.loads(line)["system"] for line in stored.splitlines()] == ["Flat", "hi2 Flat"]
    report = (tmp_path / "out" / "mine.md").read_text()
    assert "| hi2 Flat |" in report
    assert "- DocT5: a file of predicted questions" in report
    run(*given, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "results.jsonl").read_text() == stored


def test_final_questions_are_reported_from_the_lists(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")
    lists = {
        "dev": {"split": "dev", "ids": ["q300", "q301", "q302"]},
        "test": {"split": "test", "ids": ["q350", "q351"]},
        "final": {"split": "test", "ids": ["q360", "q361", "q362", "q363"]},
    }
    (tmp_path / "lists.json").write_text(json.dumps(lists))
    (tmp_path / "mine.toml").write_text(PLAN)
    given = ("experiment", tmp_path / "mine.toml", "--data", folder, "--vectors", folder / "given")
    given += ("--out", tmp_path / "out")
    refused("--questions", *given, "--final")
    given += ("--questions", tmp_path / "lists.json")
    for final, said in ((), "2 questions of the test list"), (("--final",), "4 questions of the final list"):
        run(*given, *final)
        tuned = "of lists.json, tuned on the dev list of lists.json (3)"
        assert f"{said} {tuned}" in (tmp_path / "out" / "mine.md").read_text()


def test_arguments_that_do_not_fit_are_refused(folder, tmp_path):
    given = ("experiment", "main", "--data", folder, "--out", tmp_path / "out")
    refused("NAME=FOLDER", *given, "--weights", "DeepCT")
    refused("--vectors", *given, "--data", folder, *(3 * ("--vectors", folder / "given")))
    refused("'nothing'", "experiment", "nothing", "--data", folder, "--out", tmp_path / "other")
