"""A report shows every line and needs no other file."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hi2.evaluation import trial
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.plan import Plan
from hi2.evaluation.report import as_html, plot_curve, results_table, write_report
from hi2.evaluation.results import Results
from lab_plan import SILENT, measured


@pytest.mark.parametrize("kind", ["points", "curves"])
def test_a_report_shows_every_line_and_is_self_contained(task, tmp_path, kind, monkeypatch):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")

    def time_by_effort(self, questions, setting):  # so that the settings of a curve do not depend on the clock
        return np.full(len(questions.ids), 1e-3 * (1 + sum(setting.values()))), self.rows(questions, setting, trial.K)

    monkeypatch.setattr(trial.Trial, "time_searches", time_by_effort)
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


def test_markdown_becomes_one_page():
    text = "# A & B\n\nTwo\nlines <here>.\n\n| a | b |\n| --- | ---: |\n| **1** | 2 |\n\n- one\n- two\n\n![Plot](p.svg)"
    page = as_html(text, {"p.svg": "<?xml version='1.0'?><svg>drawn</svg>"})
    for part in (
        "<title>A &amp; B</title>",
        "<h1>A &amp; B</h1>",
        "<p>Two lines &lt;here&gt;.</p>",
        "<tr><th>a</th><th>b</th></tr><tr><td><b>1</b></td><td>2</td></tr>",
        "<ul><li>one</li><li>two</li></ul>",
        "<figure role='img' aria-label='Plot'><svg>drawn</svg></figure>",
    ):
        assert part in page


def test_a_table_marks_the_best_and_what_is_significant():
    def line(system, value, **more):
        return {
            "system": system,
            "measures": {"R@100": value, "agreement@10": 1.0, "agreement@100": 0.5},
            "milliseconds": {"p50": 0.5, "p95": 1.0, "p99": 2.0},
            "queries_per_second": None,
            "scored": 1234.0,
            "bytes": 2000,
            "n_docs": 20,
            "build_seconds": 3.0,
            "build_peak_bytes": None,
            "setting": {"clusters": 3},
            **more,
        }

    plan = Plan("mine", "Mine", "points", ["hi2"], ["R@100"])
    head, _, first, second = results_table(plan, [line("hi2", 0.9), line("Flat", 0.8, p={"R@100": 0.01})]).split("\n")
    assert head.startswith("| system | R@100 |")
    assert first.startswith("| hi2 | **0.900** | **1.000** | **0.500** | 0.500 |")
    assert second.startswith("| Flat | 0.800* | **1.000** |")
    assert "| 1,234 | 100 | 3.0 |" in first
    assert first.endswith("| clusters 3 |")
    assert "candidate recall" not in head


def test_a_curve_of_training_is_drawn():
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")
    curve = {"dev": {"clusters": [2.0, 1.0], "terms": [0.0, 0.0]}}
    svg = plot_curve(curve)
    assert "<svg" in svg
    assert ">clusters<" in svg
    assert plot_curve(curve) == svg


def test_a_report_of_systems_at_their_best_says_how_they_were_chosen(task, tmp_path):
    pytest.importorskip("scipy", reason="needs the extra 'lab'")
    pytest.importorskip("matplotlib", reason="needs the extra 'lab'")
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    systems = ["BM25", "convex (BM25 + HNSW32)", "hi2 Flat"]
    plan = Plan("mine", "Mine", "quality", systems, ["nDCG@10", "R@100"], against="hi2 Flat")
    lines = measured(plan, task, Results(tmp_path), Inputs(), SILENT)
    page = write_report(plan, lines, tmp_path).read_text()
    markdown = (tmp_path / "mine.md").read_text()
    head = "| system | nDCG@10 | R@100 | ms, k = 10 | ms, k = 100 | bytes/doc | setting |"
    assert head in markdown
    for said in (
        "the highest nDCG@10 on the tuning questions, the fastest of those within 0.001",
        "reaches 99% of Flat's Recall@100",
        "nDCG@10 from searches for 10 hits, R@100 from searches for 100 hits",
        "the systems take turns of 100 questions",
        f"{len(task.test.ids)} questions of test, tuned on 20% of train ({len(task.tune.ids)})",
    ):
        assert said in markdown
    rows = markdown[markdown.index(head) :].split("\n")[2:6]
    for line, row in zip(lines, rows, strict=True):
        cells = row.strip("| ").split(" | ")
        assert cells[0] == line["system"]
        assert cells[1].strip("*") == f"{line['measures']['nDCG@10']:.3f}"
        assert cells[3] == f"{line['milliseconds_by_k']['10']['p50']:.3f}"
        assert cells[4] == f"{line['milliseconds_by_k']['100']['p50']:.3f}"
    assert "median ms for one query, one thread, k = 10" in page
    assert page.count(">nDCG@10<") >= 2  # the table and the axis of the plot
