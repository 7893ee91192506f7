"""The code on the page about integrations runs, section by section."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
NEEDS = {
    "LangChain": "langchain_core",
    "Haystack": "haystack",
    "LlamaIndex": "llama_index",
    "PyTerrier": "pyterrier",
    "MCP": "mcp",
}
SECTIONS = {
    own.split("\n", maxsplit=1)[0]: re.findall(r"```py\n(.*?)```", own, re.DOTALL)
    for own in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
}


def test_every_framework_has_a_section_with_code():
    assert {name for name, blocks in SECTIONS.items() if blocks} == set(NEEDS)


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")  # PyTerrier's own code
@pytest.mark.parametrize("name", NEEDS)
def test_the_code_of_a_section_runs(name, tmp_path, monkeypatch):
    if importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"needs {name}")
    monkeypatch.chdir(tmp_path)
    for block in SECTIONS[name]:
        exec(compile(block, PAGE.name, "exec"), {})
