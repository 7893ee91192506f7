"""What do the tests of experiments share? A small plan, and running one."""

from __future__ import annotations

from hi2.evaluation import experiment
from hi2.evaluation.plan import Plan
from hi2.evaluation.results import collect_lines
from hi2.progress import Progress

SILENT = Progress(False)
POINTS = Plan(
    "mine", "Mine", "points", ["hi2 Flat", "faiss IVF-Flat"], ["R@100", "RR@10", "R@1000"], against="hi2 Flat"
)


def measured(plan, task, results, inputs, progress):
    experiment.run([plan], task, results, inputs, progress)
    return collect_lines(plan, results)
