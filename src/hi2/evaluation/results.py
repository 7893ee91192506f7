"""What was measured so far? Lines on disk, and all of an experiment's together, tested against one another."""

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
    """Lines of JSON in ``folder/results.jsonl``, with values by question beside them for tests of significance."""

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

    def of(self, key: str) -> list[dict[str, Any]]:
        """Return the lines of one system of one experiment; they are there together or not at all."""
        return [line for line in self.lines if line["key"] == key]

    def add(self, lines: Sequence[dict[str, Any]], values: Mapping[str, Any]) -> None:
        """Write a system's lines at once: values first, then the file of lines by one rename."""
        key = lines[0]["key"]
        kept = self.folder / "values"
        kept.mkdir(exist_ok=True)
        with (kept / f"{key}.part").open("wb") as file:
            np.savez_compressed(file, **values)
        (kept / f"{key}.part").replace(kept / f"{key}.npz")
        self.lines += lines
        part = self.path.with_suffix(".part")
        part.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines), encoding="utf-8")
        part.replace(self.path)

    def values(self, key: str) -> dict[str, Any]:
        """Return the values by question of a line."""
        with np.load(self.folder / "values" / f"{key}.npz", allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def gathered(plan: Plan, results: Results) -> list[dict[str, Any]]:
    """Return all the results hold of a plan: by collection and embeddings, in the plan's order, tested.

    Where a collection was measured more than once, its last run counts, and of a system its last lines. Systems that
    were never measured for want of what they need are lines that say so.
    """
    lines = [
        line
        for line in results.lines
        if line["experiment"] == plan.name and set(plan.measures) <= set(line["measures"])
    ]
    # What was measured together: the same questions and vectors, on the same machine with the same threads.
    together = {(line["collection"], line["encoder"]): _run_of(line) for line in lines}
    lines = [line for line in lines if _run_of(line) == together[line["collection"], line["encoder"]]]
    last = {(line["collection"], line["encoder"], line["system"]): line["key"] for line in lines}
    shown = plan.systems if "Flat" in plan.systems else ["Flat", *plan.systems]
    found = []
    for collection, encoder in dict.fromkeys((line["collection"], line["encoder"]) for line in lines):
        kept = [last.get((collection, encoder, system)) for system in shown]
        own = [dict(line) for key in kept for line in lines if line["key"] == key]
        _test(plan, own, results)
        found += own
    measured = {line["system"] for line in found}
    absent = [name for name in plan.systems if name not in measured and PEERS[name].needs]
    return [*found, *({"experiment": plan.name, "system": name, "absent": PEERS[name].needs} for name in absent)]


def _run_of(line: Mapping[str, Any]) -> tuple[str, str, int]:
    return line["task"], line["machine"]["cpu"], line["machine"]["threads"]


def _test(plan: Plan, lines: Sequence[dict[str, Any]], results: Results) -> None:
    """Add p-values against the plan's reference, corrected for the number of systems, to the lines of points."""
    reference = [line for line in lines if line["system"] == plan.against]
    if plan.kind != "points" or not reference:
        return
    base = results.values(reference[0]["key"])
    others = [line for line in lines if line["system"] != plan.against]
    for name in base:
        raw = {line["key"]: paired_p(results.values(line["key"])[name], base[name]) for line in others}
        corrected = holm(raw)
        for line in others:
            line.setdefault("p", {})[name] = corrected[line["key"]]
