"""``hi2 mcp`` answers an assistant over standard input and output; the tools are tested with the adapter."""

from __future__ import annotations

import pytest

import hi2
from commands import refused, run

pytest.importorskip("mcp", reason="needs the extra 'mcp'")


def test_a_server_ends_with_its_input(tmp_path):
    hi2.HybridIndex.build(texts=["a red apple"], encoder=hi2.StaticEncoder(), path=tmp_path / "a.hi2").close()
    assert run("mcp", tmp_path / "a.hi2", stdin="").stdout == ""
    refused("does not exist", "mcp", tmp_path / "nope.hi2")
