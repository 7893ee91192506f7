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
