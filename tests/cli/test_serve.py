"""``hi2 serve`` refuses what is unsafe or makes no sense, before it listens."""

from __future__ import annotations

import pytest

import hi2
from commands import refused, run

pytest.importorskip("fastapi", reason="needs the extra 'server'")


@pytest.fixture
def index(tmp_path):
    hi2.HybridIndex.build(texts=["a red apple"], encoder=hi2.StaticEncoder(), path=tmp_path / "a.hi2").close()
    return tmp_path / "a.hi2"


def test_bad_options_are_refused(index, tmp_path):
    refused("'INDEX' parameter must be given", "serve")
    refused("does not exist", "serve", tmp_path / "nope.hi2")
    refused("--token-file must be given", "serve", index, "--host", "0.0.0.0")
    refused("cannot be read", "serve", index, "--token-file", tmp_path / "nope")
    refused("different names", "serve", index, index)
    (tmp_path / "tokens").write_text("read short\n")
    refused("line 1", "serve", index, "--token-file", tmp_path / "tokens")


def test_the_help_names_the_options():
    shown = run("serve", "--help").stdout
    for option in ("--port", "--token-file", "--folder", "--cors", "--read-only"):
        assert option in shown
