"""Changed questions are changed as they say, and encoded again."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hi2
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.plan import Plan
from hi2.evaluation.report import write_report
from hi2.evaluation.results import Results
from hi2.evaluation.stress import variants
from hi2.evaluation.task import load_task
from lab_plan import SILENT, measured


def test_changed_questions_are_encoded_again(folder, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    task = load_task(folder, encoder="static", cache=tmp_path / "cache", limit=20, progress=SILENT)
    changed = variants(task, task.query_encoder)
    assert list(changed) == ["as asked", "typos", "no shared word", "two words", "very long"]
    place = {id: row for row, id in enumerate(task.ids)}
    for i, id in enumerate(task.test.ids):
        texts = {name: own.test.texts[i] for name, own in changed.items()}
        answers = {w for d in task.test.judged.relevant(id) for w in re.findall(r"\w+", task.texts[place[d]].lower())}
        left = set(re.findall(r"\w+", texts["no shared word"].lower()))
        assert not left & answers or left == {"this"}
        assert len(texts["two words"].split()) <= 2
        assert texts["very long"].startswith(texts["as asked"])
        assert len(texts["typos"]) == len(texts["as asked"])
    assert any(changed["typos"].test.texts[i] != task.test.texts[i] for i in range(len(task.test.ids)))
    np.testing.assert_allclose(
        changed["typos"].test.vectors, hi2.StaticEncoder()(list(changed["typos"].test.texts)), atol=1e-6
    )
    plan = Plan("stress", "Stress", "stress", ["hi2 Flat"], ["R@100"])
    lines = measured(plan, task, Results(tmp_path / "out"), Inputs(), SILENT)
    assert [line["variant"] for line in lines if line["system"] == "hi2 Flat"] == list(changed)
    flat = {line["variant"]: line["measures"]["R@100"] for line in lines if line["system"] == "Flat"}
    assert flat["no shared word"] < flat["as asked"]
    assert "hi2 Flat, typos" in write_report(plan, lines, tmp_path / "out").with_suffix(".md").read_text()
    with pytest.raises(hi2.InvalidParameter, match="changed questions need new vectors"):
        variants(task, None)
