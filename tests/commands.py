"""What do the tests of commands share? Running one, expecting its refusal, and a few documents."""

from __future__ import annotations

import os
import subprocess
import sys

DOCUMENTS = [
    {"_id": "d1", "title": "Hamlet", "text": "A tragedy by William Shakespeare about a prince of Denmark."},
    {"_id": "d2", "title": "", "text": "How to bake sourdough bread at home with flour, water and salt."},
    {"id": "d3", "text": "Sorting algorithms: quicksort, merge sort and heap sort compared."},
    {"_id": "d4", "text": "The capital of France is Paris, on the river Seine."},
]


def run(*arguments, stdin=None, code=0, environment=None):
    done = subprocess.run(
        [sys.executable, "-m", "hi2.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=stdin,
        check=False,
        env={**os.environ, "COLUMNS": "100", **(environment or {})},
    )
    assert done.returncode == code, done.stderr
    return done


def refused(match, *arguments, **keywords):
    done = run(*arguments, code=2, **keywords)
    assert match in done.stderr
    assert done.stderr.startswith("hi2: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done
