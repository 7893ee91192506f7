"""Errors of the library name the options of the command that raised them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from commands import refused, run
from hi2.cli.wording import as_options


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"_id": "a", "text": "red apple", "year": 1}, {"_id": "b", "text": "green pear", "year": 2}]
    (tmp_path / "good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mixed.jsonl").write_text(
        "".join(json.dumps(row | {"year": "x", "_id": "c"}) + "\n" for row in rows[1:])
    )
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file.txt").touch()
    np.save(tmp_path / "three.npy", np.eye(3, dtype=np.float32))
    np.save(tmp_path / "two.npy", np.eye(2, 3, dtype=np.float32))
    run("-q", "build", "good.jsonl", "-o", "a.hi2")
    run("-q", "build", "good.jsonl", "-o", "bare.hi2", "--vectors", "two.npy", "--no-bags")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("add a.hi2 mixed.jsonl", "build the index with --free NAME"),
        ("delete a.hi2 zzz", "--missing-ok"),
        ("build good.jsonl -o some --overwrite", "--out must be"),
        (
            "build good.jsonl -o b.hi2 --fields year,nope",
            "--fields must be names of fields that documents have. Got 'nope'",
        ),
        ("build good.jsonl -o b.hi2 --vectors three.npy", "--vectors must have 2 rows. Got 3."),
        ("search a.hi2 pear --profile fast", "hi2 tune makes them"),
        ("search a.hi2 pear --group-by nope", "--group-by must be"),
        ("search a.hi2 pear -k 0", "-k must be"),
        ("search a.hi2 pear --filter nope==1", "--filter must be"),
        ("search bare.hi2 pear", "--no-bags"),
        ("build --files some -o b.hi2", "--files"),
    ],
)
def test_messages_name_options(files, command, said):
    done = refused(said, *command.split())
    assert "=True" not in done.stderr
    assert "parameter" not in done.stderr


def test_what_a_command_does_not_have_is_left_alone():
    assert as_options("The 'texts' parameter must be given.", {"k"}) == "The 'texts' parameter must be given."


@pytest.mark.parametrize("command", ["delete a.hi2 a", "merge a.hi2", "verify a.hi2", "add a.hi2 good.jsonl --replace"])
def test_quiet_commands_print_nothing_when_all_is_well(files, command):
    done = run("-q", *command.split())
    assert (done.stdout, done.stderr) == ("", "")
