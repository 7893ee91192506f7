"""What does an experiment do? It measures every system on a task and skips what the results already hold."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from hi2 import _native
from hi2.arguments import thread_count
from hi2.evaluation.inputs import Inputs
from hi2.evaluation.measures import Measure
from hi2.evaluation.peers.hybrid import Hybrid
from hi2.evaluation.peers.rescored import Rescored
from hi2.evaluation.plan import Plan
from hi2.evaluation.quality import Contender, choose_setting, measure_in_turns
from hi2.evaluation.results import Results
from hi2.evaluation.significance import bootstrap_interval
from hi2.evaluation.stress import variants
from hi2.evaluation.task import Task
from hi2.evaluation.trial import K, Outcome, Trial
from hi2.progress import Progress
from hi2.version import __version__


def run(plans: Sequence[Plan], task: Task, results: Results, inputs: Inputs, progress: Progress) -> None:
    """Measure every system that is not yet in the results. A system in several plans is built once."""
    here = machine()
    exact: list[list[int]] = []
    flat_recall = 0.0
    contenders: dict[str, list[tuple[dict[str, Any], Contender]]] = {}
    systems = _systems_in_order(plans)
    with progress.phase(f"{', '.join(plan.name for plan in plans)}: {task.name}, {task.encoder}", len(systems)) as step:
        for system in systems:
            using = [plan for plan in plans if system in ("Flat", *plan.systems)]
            keys = {plan.name: _result_key(plan, task, system, inputs, here) for plan in using}
            missing = [plan for plan in using if not results.lines_of(keys[plan.name])]
            peer = inputs.system(system, task) if missing or system == "Flat" else None
            if peer is not None:
                trial = Trial.build(peer, task, threads=thread_count(None))
                if system == "Flat":
                    exact = trial.rows(task.test, {}, K)
                    flat_recall = trial.tuning_recall()
                common = {
                    "collection": task.name,
                    "encoder": task.encoder,
                    "system": system,
                    "n_docs": len(task.ids),
                    "n_queries": len(task.test.ids),
                    "tuned_on": f"{task.tune.split} ({len(trial.tuning_questions.ids):,})",
                    "reported_on": task.test.split,
                    "bytes": peer.n_bytes,
                    "bytes_by_part": peer.bytes_by_part,
                    "build_seconds": trial.build_seconds,
                    "build_peak_bytes": trial.build_peak_bytes,
                    "task": task.fingerprint,
                    "manifest": task.manifest,
                    "machine": here,
                }
                for plan in missing:
                    named = {"key": keys[plan.name], "experiment": plan.name}
                    trial.tune_part(plan.goal * flat_recall)
                    if plan.kind == "quality":
                        contender = choose_setting(trial, Measure.named(plan.choose), plan.settings_of(system))
                        contenders.setdefault(plan.name, []).append(({**named, **common}, contender))
                        continue
                    n_scored = _scored_by_hi2(results.lines_of(_result_key(plan, task, Hybrid.name, inputs, here)))
                    lines, values = _measure_system(plan, trial, plan.goal * flat_recall, exact, n_scored)
                    results.add([{**named, **common, **line} for line in lines], values)
            step(1)
    for plan in plans:
        if plan.name in contenders:
            _measure_together(plan, task, contenders[plan.name], results)


def _measure_together(
    plan: Plan, task: Task, named: Sequence[tuple[dict[str, Any], Contender]], results: Results
) -> None:
    """Measure the systems of a 'quality' experiment side by side and write their lines together."""
    together = hashlib.sha256(json.dumps([line["key"] for line, _ in named]).encode()).hexdigest()[:16]
    measured = measure_in_turns([own for _, own in named], task.test, [Measure.named(name) for name in plan.measures])
    results.add_together(
        [
            ([{**line, "together": together, **own}], values)
            for (line, _), (own, values) in zip(named, measured, strict=True)
        ]
    )


def _systems_in_order(plans: Sequence[Plan]) -> list[str]:
    """Return Flat first (it sets the goal), then hi2 (BM25 rescores as many documents as hi2 scores), then the rest."""
    named = list(dict.fromkeys(name for plan in plans for name in plan.systems))
    first = ["Flat", *(name for name in named if name == Hybrid.name)]
    return [*first, *(name for name in named if name not in first)]


def _scored_by_hi2(lines: Sequence[dict[str, Any]]) -> int | None:
    """Return how many documents hi2 scores per tuning question at its setting; None if hi2 was not measured."""
    return round(lines[0]["scored_tuning"]) if lines and lines[0].get("scored_tuning") else None


def _measure_system(
    plan: Plan, trial: Trial, goal: float, exact: list[list[int]], n_scored: int | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a system's result lines, and the values per question of the first line."""
    measures = [Measure.named(name) for name in plan.measures]
    if plan.kind == "stress":
        return _measure_stress(trial, goal, measures)
    if plan.kind == "curves":
        trial.tune(2.0)  # out of reach, so every setting is tried
        chosen = [one.setting for one in _pareto_front(trial)]
    elif plan.setting is not None and isinstance(trial.peer, Hybrid):
        chosen = [plan.setting]
    elif type(trial.peer) is Rescored and n_scored is not None:
        chosen = [{"n": max(K, n_scored)}]
    else:
        chosen = [trial.tune(goal).setting]
    brief = plan.kind == "curves"
    outcomes: list[Outcome] = [trial.measure(setting, measures, exact, brief=brief) for setting in chosen]
    swept = [{"setting": dict(one.setting), "recall": one.recall, "seconds": one.seconds} for one in trial.swept]
    lines = [
        {
            **outcome.to_json(),
            "intervals": {name: bootstrap_interval(values) for name, values in outcome.values.items()},
            "scored_tuning": trial.mean_scored(trial.task.tune, outcome.setting) if plan.kind == "points" else None,
            "swept": swept if i == 0 else [],
        }
        for i, outcome in enumerate(outcomes)
    ]
    return lines, dict(outcomes[0].values)


def _measure_stress(
    trial: Trial, goal: float, measures: Sequence[Measure]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Tune on the original questions, then measure on changed ones. Brute force answers the same changed questions."""
    setting = trial.tune(goal).setting
    lines: list[dict[str, Any]] = []
    first: dict[str, Any] = {}
    for name, task in variants(trial.task, trial.task.query_encoder).items():
        outcome = Trial(trial.peer, task).measure(setting, measures, task.nearest(task.test, K))
        lines.append({**outcome.to_json(), "variant": name, "swept": []})
        first = first or dict(outcome.values)
    return lines, first


def _pareto_front(trial: Trial) -> list[Any]:
    """Return at most 12 settings that no other setting beats in both recall and time on the tuning questions."""
    front: list[Any] = []
    for one in sorted(trial.swept, key=lambda one: (one.seconds, -one.recall)):
        if not front or one.recall > front[-1].recall:
            front.append(one)
    keep = np.unique(np.linspace(0, len(front) - 1, 12).round().astype(int))
    return [front[i] for i in keep]


def _result_key(plan: Plan, task: Task, system: str, inputs: Inputs, here: Mapping[str, Any]) -> str:
    """Return a hash of everything a result depends on. The version stands for the code."""
    data: list[Any] = [plan.name, plan.measures, plan.goal, dict(plan.setting or {}), plan.kind, task.fingerprint]
    if plan.kind == "quality":  # measured beside the others, so it depends on what they are
        data += [plan.choose, [plan.settings_of(name) for name in plan.systems]]
        data += [[name, inputs.fingerprint(name)] for name in plan.systems]
    data += [system, inputs.fingerprint(system), __version__, here["cpu"], here["threads"], here["simd"]]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def machine() -> dict[str, Any]:
    """Return the environment of a result: commit, processor, threads, instruction set and versions."""
    return {
        "commit": _commit(),
        "cpu": _cpu(),
        "threads": thread_count(None),
        "simd": _native.simd_level(),
        "versions": {"hi2": __version__, "python": platform.python_version(), **dict(_versions())},
    }


def _versions() -> Iterator[tuple[str, str]]:
    for name in ("numpy", "faiss-cpu", "usearch", "scann", "bm25s", "pyseismic-lsr", "tokenizers"):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str | None:
    folder = Path(__file__).parent
    try:
        git = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ}
        )
    except OSError:
        return None
    return git.stdout.strip() or None
