"""What was measured so far? Result lines on disk, collected per experiment and tested for significance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hi2.errors import InvalidParameter
from hi2.evaluation.peers import PEERS
from hi2.evaluation.plan import Plan
from hi2.evaluation.significance import holm, paired_p


class Results:
    """Result lines in ``folder/results.jsonl``, and values per question in ``folder/values`` for significance tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        self.lines: list[dict[str, Any]] = []
        if self.path.is_file():
            for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    self.lines.append(json.loads(line))
                except ValueError as error:
                    raise InvalidParameter(f"{self.path}, line {number}: not JSON; remove the file.") from error

    def lines_of(self, key: str) -> list[dict[str, Any]]:
        """Return the lines of one system in one experiment: all of them, or none if it was not measured."""
        return [line for line in self.lines if line["key"] == key]

    def add(self, lines: Sequence[dict[str, Any]], values: Mapping[str, Any]) -> None:
        """Write all lines of a system, and its values per question."""
        self.add_together([(lines, values)])

    def add_together(self, systems: Sequence[tuple[Sequence[dict[str, Any]], Mapping[str, Any]]]) -> None:
        """Write the lines and values of several systems: all of them, or none if the process ends in between.

        The values are written first; one rename then makes the lines visible.
        """
        values_folder = self.folder / "values"
        values_folder.mkdir(exist_ok=True)
        for lines, values in systems:
            key = lines[0]["key"]
            with (values_folder / f"{key}.part").open("wb") as file:
                np.savez_compressed(file, **values)
            (values_folder / f"{key}.part").replace(values_folder / f"{key}.npz")
        self.lines += [line for lines, _ in systems for line in lines]
        part = self.path.with_suffix(".part")
        part.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines), encoding="utf-8")
        part.replace(self.path)

    def values(self, key: str) -> dict[str, Any]:
        """Return the values per question of a line."""
        with np.load(self.folder / "values" / f"{key}.npz", allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def collect_lines(plan: Plan, results: Results) -> list[dict[str, Any]]:
    """Return all lines of a plan, by collection and embeddings, systems in the plan's order, with p-values.

    If a collection was measured more than once, only its last run counts, and of each system only the last lines. A
    system that was never measured because its inputs were missing gets a line that says so.
    """
    lines = [
        line
        for line in results.lines
        if line["experiment"] == plan.name and set(plan.measures) <= set(line["measures"])
    ]
    # A run: the same questions and vectors, measured on the same processor with the same threads, and beside the same
    # systems if they took turns.
    last_run = {(line["collection"], line["encoder"]): _run_key(line) for line in lines}
    lines = [line for line in lines if _run_key(line) == last_run[line["collection"], line["encoder"]]]
    last = {(line["collection"], line["encoder"], line["system"]): line["key"] for line in lines}
    shown = plan.systems if "Flat" in plan.systems else ["Flat", *plan.systems]
    found = []
    for collection, encoder in dict.fromkeys((line["collection"], line["encoder"]) for line in lines):
        keys = [last.get((collection, encoder, system)) for system in shown]
        own = [dict(line) for key in keys for line in lines if line["key"] == key]
        _add_p_values(plan, own, results)
        found += own
    measured = {line["system"] for line in found}
    absent = [name for name in plan.systems if name not in measured and PEERS[name].needs]
    return [*found, *({"experiment": plan.name, "system": name, "absent": PEERS[name].needs} for name in absent)]


def _run_key(line: Mapping[str, Any]) -> tuple[str, str, int, str]:
    return line["task"], line["machine"]["cpu"], line["machine"]["threads"], line.get("together", "")


def _add_p_values(plan: Plan, lines: Sequence[dict[str, Any]], results: Results) -> None:
    """Add p-values against the plan's reference, corrected for the number of systems. Only points are tested."""
    reference = [line for line in lines if line["system"] == plan.against]
    if plan.kind not in ("points", "quality") or not reference:
        return
    base = results.values(reference[0]["key"])
    others = [line for line in lines if line["system"] != plan.against]
    for name in base:
        raw = {line["key"]: paired_p(results.values(line["key"])[name], base[name]) for line in others}
        corrected = holm(raw)
        for line in others:
            line.setdefault("p", {})[name] = corrected[line["key"]]
