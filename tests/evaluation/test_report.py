"""A report shows every line and needs no other file."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hi2.evaluation import trial
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.plan import Plan
from hi2.evaluation.report import write_report
from hi2.evaluation.results import Results
from lab_plan import SILENT, measured


@pytest.mark.parametrize("kind", ["points", "curves"])
def test_a_report_shows_every_line_and_is_self_contained(task, tmp_path, kind, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")

    def time_by_effort(self, questions, setting):  # so that the settings of a curve do not depend on the clock
        return np.full(len(questions.ids), 1e-3 * (1 + sum(setting.values()))), self.rows(questions, setting, trial.K)

    monkeypatch.setattr(trial.Trial, "_time_searches", time_by_effort)
    plan = Plan("mine", "A <title>", kind, ["hi2 Flat", "DocT5"], ["R@100"], axis="scored", against="Flat")
    lines = measured(plan, task, Results(tmp_path), Inputs(), SILENT)
    page = write_report(plan, lines, tmp_path)
    text, markdown = page.read_text(), (tmp_path / "mine.md").read_text()
    assert markdown.count("| hi2 Flat |") == sum(line["system"] == "hi2 Flat" for line in lines)
    assert "DocT5: a file of predicted questions" in markdown
    assert "A &lt;title&gt;" in text
    assert not re.search(r"<(script|link|img)|src=|https?://(?!www\.w3\.org|purl\.org|creativecommons)", text)
    assert "<svg" in text
    assert "share of documents scored" in text
    if kind == "curves":
        assert sum(line["system"] == "hi2 Flat" for line in lines) > 1


def test_the_papers_own_numbers_are_shown_for_its_collections():
    from hi2.evaluation.report import _paper_table

    assert "HI² supervised | 0.401" in "\n".join(_paper_table({"manifest": {"collection.tsv": ""}}))
    assert "HI² supervised | 0.779" in "\n".join(_paper_table({"manifest": {"psgs_w100.tsv.gz": ""}}))
    assert _paper_table({"manifest": {"corpus.jsonl": ""}}) == []
