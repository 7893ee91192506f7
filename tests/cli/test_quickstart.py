"""``hi2 quickstart`` answers questions about Python."""

from __future__ import annotations

import inspect
import json
import re

from commands import run
from hi2.cli.quickstart import stdlib_documents


def test_quickstart_answers():
    done = run("quickstart", "--no-interactive")
    agreement = re.search(r"agreement@10 (0\.\d+)", done.stdout)
    assert float(agreement[1]) > 0.95  # with brute force over the vectors, so words do not count
    assert "builtins.list.reverse" in done.stdout
    assert "threading.Thread.join" in done.stdout
    assert "zipfile.ZipInfo" in done.stdout
    done = run("quickstart", "--interactive", stdin="parse a [/json] document")  # the input ends without a newline
    assert "json." in done.stdout.split("Your turn")[1]


def test_the_documentation_of_the_standard_library_is_collected_once():
    found = dict(stdlib_documents())
    assert len(found) > 2000
    assert found["json.dumps"] == inspect.getdoc(json.dumps)
    assert "threading.Thread.join" in found
    assert not any(part.startswith("_") for name in found for part in name.split("."))
    titles = [(name.rsplit(".", 1)[-1], text) for name, text in found.items()]
    assert len(set(titles)) == len(titles)
