"""Every example runs as a program and shows what it promises."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: The module that an example needs, and what it prints.
SHOWN = {
    "langchain_store.py": ("langchain_core", ["By words:    form", "By meaning:  leave", "['taxi']", "4 documents"]),
    "haystack_pipeline.py": ("haystack", ["leave", "KX-4411 is the number of the taxi company", "by words alone"]),
    "llama_index_store.py": ("llama_index", ["What is EY-3209 for?   form", "3 nodes are left"]),
    "pyterrier_experiment.py": ("pyterrier", ["meaning and words        1.00", "Java started: False"]),
    "mcp_client.py": ("mcp", ["Tools: search, get, explain", "Found: leave", "thirty days"]),
    "rag.py": ("hi2", ["A horse eats grass, hay and apples. [horses.md:10-45]", "[boats.txt:96-156]", "in September"]),
}


def run(name, *arguments):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_what_it_promises(name):
    module, shown = SHOWN[name]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}")
    printed = run(name)
    assert [own for own in shown if own not in printed] == [], printed


def test_answers_come_from_a_given_folder_and_cite_the_characters(tmp_path):
    text = "Bread is baked on Mondays.\n\nThe oven, model QZ-7, was repaired in March. It is hot."
    (tmp_path / "bakery.md").write_text(text)
    printed = run("rag.py", tmp_path, "What happened to QZ-7?")
    begin = text.index("The oven")
    assert f"[bakery.md:{begin}-{begin + 44}]" in printed
    assert text[begin : begin + 44] == "The oven, model QZ-7, was repaired in March."


def test_a_model_is_asked_with_the_sources(tmp_path):
    spec = importlib.util.spec_from_file_location("rag", EXAMPLES / "rag.py")
    rag = importlib.util.module_from_spec(spec)
    sys.modules["rag"] = rag
    spec.loader.exec_module(rag)
    (tmp_path / "a.txt").write_text("The horse eats apples.")
    asked = []
    said = rag.answer(rag.build(tmp_path), "What does it eat?", model=lambda prompt: asked.append(prompt) or "Apples.")
    assert said == "Apples."
    assert "[a.txt:0-22] The horse eats apples." in asked[0]
    assert asked[0].endswith("Question: What does it eat?")
