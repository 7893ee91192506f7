"""``hi2 eval``: a system is measured on a collection, and its run is worth as much."""

from __future__ import annotations

import json

import pytest

from commands import refused, run


def test_a_saved_run_is_judged_as_the_system_was(folder, tmp_path):
    given = ("eval", "--data", folder, "--measures", "RR@10, R@100")
    done = run(*given, "--vectors", folder / "given", "--system", "hi2 Flat", "--save-run", tmp_path / "run.txt")
    measured = json.loads(done.stdout)
    assert (measured["system"], measured["collection"], measured["encoder"]) == ("hi2 Flat", "topics", "given")
    assert measured["measures"]["agreement@10"] > 0.8
    assert measured["bytes_per_doc"] > 64  # 16 dimensions of four bytes
    assert "hi2-Flat" in (tmp_path / "run.txt").read_text()
    judged = json.loads(run(*given, "--run", tmp_path / "run.txt").stdout)
    assert judged["queries"] == 50
    for name in ("RR@10", "R@100"):
        assert judged["measures"][name] == pytest.approx(measured["measures"][name])


@pytest.mark.parametrize(
    ("line", "said"),
    [("q1 Q0 d1 1 0.5 x", "'q1' is not judged in test"), ("q360 Q0 nothing 1 0.5 x", "'nothing' of query 'q360'")],
)
def test_a_run_of_another_collection_is_refused(folder, tmp_path, line, said):
    (tmp_path / "run.txt").write_text(line + "\n")
    refused(said, "eval", "--data", folder, "--run", tmp_path / "run.txt")


def test_systems_and_measures_that_do_not_exist_are_refused(folder):
    refused("'nothing'", "eval", "--data", folder, "--system", "nothing")
    refused("'P@5'", "eval", "--data", folder, "--measures", "P@5")


def test_only_listed_questions_are_reported(folder, tmp_path):
    lists = {
        "dev": {"split": "dev", "ids": [f"q{i}" for i in range(300, 330)]},
        "test": {"split": "test", "ids": [f"q{i}" for i in range(350, 360)]},
        "final": {"split": "test", "ids": [f"q{i}" for i in range(370, 390)]},
    }
    (tmp_path / "topics.json").write_text(json.dumps(lists))
    given = ("eval", "--data", folder, "--measures", "R@100", "--questions", tmp_path)
    built = (*given, "--vectors", folder / "given", "--system", "Flat")
    measured = json.loads(run(*built, "--save-run", tmp_path / "run.txt").stdout)
    assert measured["reported_on"] == "the test list of topics.json (10)"
    assert measured["tuned_on"] == "the dev list of topics.json (30)"
    judged = json.loads(run(*given, "--run", tmp_path / "run.txt").stdout)
    assert (judged["queries"], judged["reported_on"]) == (10, "the test list of topics.json")
    assert judged["measures"]["R@100"] == pytest.approx(measured["measures"]["R@100"])
    assert json.loads(run(*built, "--final").stdout)["reported_on"] == "the final list of topics.json (20)"
    refused("--questions", "eval", "--data", folder, "--final", "--run", tmp_path / "run.txt")
