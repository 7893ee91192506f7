"""Errors are one line, shared options are taken anywhere, and help has examples."""

from __future__ import annotations

import numpy as np

import hi2
from commands import refused, run


def test_debug_shows_the_traceback(tmp_path):
    done = run("--debug", "search", tmp_path / "nothing", "x", code=2)
    assert "Traceback" in done.stderr


def test_help_has_examples_and_a_wrong_option_is_refused():
    assert "quickstart" in run("--help").stdout
    for verb in ("quickstart", "build", "add", "delete", "search", "explain", "info", "verify", "merge"):
        assert f"hi2 {verb}" in run(verb, "--help").stdout
    assert hi2.__version__ in run("--version").stdout


def test_shared_options_are_taken_anywhere_and_usage_errors_are_one_line(index, tmp_path):
    assert run("verify", index, "--quiet").stderr == ""
    refused("--nonsense", "verify", index, "--nonsense")
    refused("spaces", "search", index, "--queries", _spaced(tmp_path), "-f", "trec")
    (tmp_path / "empty.npy").touch()
    refused("--vectors", "search", index, "a query", "--vectors", tmp_path / "empty.npy")
    refused("vectors", "build", tmp_path / "corpus.jsonl", "-o", tmp_path / "z", "--vectors", tmp_path / "empty.npy")
    np.savez(tmp_path / "several.npy.npz", a=np.ones(3))
    (tmp_path / "several.npy.npz").rename(tmp_path / "several.npy")
    refused("vectors", "build", tmp_path / "corpus.jsonl", "-o", tmp_path / "z", "--vectors", tmp_path / "several.npy")
    refused("OPQ", "build", tmp_path / "corpus.jsonl", "-o", tmp_path / "z", "--codec", "OPQ:²")


def _spaced(folder):
    path = folder / "q.jsonl"
    path.write_text('{"id": "q 1", "text": "bread"}\n')
    return path


def test_shell_completion_knows_the_verbs():
    done = run(environment={"_HI2_COMPLETE": "complete_bash", "COMP_WORDS": "hi2 qu", "COMP_CWORD": "1"})
    assert "quickstart" in done.stdout
