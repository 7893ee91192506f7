"""What does an experiment do? Every system on a task, one line of results each, and no line twice."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

from hi2 import _native
from hi2.errors import InvalidParameter, MissingExtra, invalid
from hi2.evaluation.measures import Measure
from hi2.evaluation.peers import PEERS, Peer
from hi2.evaluation.peers.hybrid import Hybrid
from hi2.evaluation.peers.learned_sparse import LearnedSparse
from hi2.evaluation.peers.rescored import Rescored
from hi2.evaluation.peers.trained import Trained
from hi2.evaluation.significance import bootstrap_interval, holm, paired_p
from hi2.evaluation.stress import variants
from hi2.evaluation.task import Task, digest
from hi2.evaluation.term_weights import TermWeights, check_order, make_weights, read_weights
from hi2.evaluation.trial import K, Outcome, Trial, cores
from hi2.parts import PARTS
from hi2.progress import Progress
from hi2.version import __version__

KINDS, AXES = ("points", "curves", "stress"), ("milliseconds", "scored")


@dataclass(frozen=True)
class Plan:
    """An experiment as its TOML file has it.

    ``kind`` is 'points' (every system at one setting), 'curves' (every swept setting) or 'stress' (one setting, test
    questions changed in several ways). A point is the fastest setting that reaches ``goal`` of Flat's Recall@100 on the
    tuning questions, or the given ``setting``.
    """

    name: str
    title: str
    kind: str
    systems: Sequence[str]
    measures: Sequence[str]
    paper: str = ""
    goal: float = 0.99
    against: str = ""
    axis: str = "milliseconds"
    setting: Mapping[str, Any] | None = None

    @classmethod
    def load(cls, name: str) -> Plan:
        """Read a built-in experiment, or a TOML file of one's own."""
        own = Path(name)
        if own.suffix == ".toml" and own.is_file():
            return cls._read(own.stem, own.read_text(encoding="utf-8"))
        folder = resources.files("hi2.evaluation").joinpath("experiments")
        known = sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".toml"))
        known.remove("paper")
        if name not in known:
            raise invalid("name", f"one of {', '.join(known)}, or a .toml file", f"'{name}'")
        return cls._read(name, folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))

    @classmethod
    def _read(cls, name: str, text: str) -> Plan:
        try:
            plan = cls(name, **parse_toml(text))
        except (TypeError, ValueError) as error:
            raise InvalidParameter(f"The experiment '{name}' cannot be read: {error}.") from error
        for field_name, value, known in (("kind", plan.kind, KINDS), ("axis", plan.axis, AXES)):
            if value not in known:
                raise invalid(field_name, f"one of {', '.join(known)}", f"'{value}' in the experiment '{name}'")
        for measure in plan.measures:
            Measure.named(measure)
        for system in plan.systems:
            if system not in PEERS:
                raise invalid("systems", f"among {', '.join(PEERS)}", f"'{system}'")
        return plan

    def only(self, systems: Sequence[str] | None, against: str | None = None) -> Plan:
        """Return the plan for some of its systems, or for others, tested against another."""
        for option, names in (("--system", systems or []), ("--against", [against] if against else [])):
            for name in names:
                if name not in PEERS:
                    raise invalid(option, f"one of {', '.join(PEERS)}", f"'{name}'")
        chosen = list(systems or self.systems)
        if against and against not in chosen:
            chosen.append(against)
        return replace(self, systems=chosen, against=against or self.against)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the data of a TOML text."""
    name = "tomllib" if importlib.util.find_spec("tomllib") else "tomli"  # Python 3.10 has no reader of its own
    try:
        data: dict[str, Any] = importlib.import_module(name).loads(text)
    except ImportError as error:
        raise MissingExtra("Experiments need an extra; install it with: pip install 'hi2[lab]'") from error
    return data


@dataclass(frozen=True)
class Inputs:
    """What some systems need: predicted questions; term weights, or models that make them; trained parts.

    ``weights`` has, by system, a folder with documents.jsonl and queries.jsonl, or a model's folder or name on the hub
    ("hub": its own); what a model makes is kept under ``cache``. ``trained`` has a folder of parts for every method.
    """

    expansions: Path | None = None
    weights: Mapping[str, str] | None = None
    cache: Path = Path("weights")
    trained: Path | None = None
    progress: Progress = field(default_factory=lambda: Progress(False))

    def system(self, name: str, task: Task) -> Peer | None:
        """Return the system, None where what it needs was not given."""
        kind: Any = PEERS[name]
        if kind.needs is None:
            system: Peer = kind()
            return system
        if issubclass(kind, LearnedSparse):
            source = (self.weights or {}).get(name)
            return None if source is None else self._sparse(kind, source, task)
        if issubclass(kind, Trained):
            parts = None if self.trained is None else self.trained / kind.method
            return None if parts is None or not (parts / PARTS).is_file() else kind(parts)
        return None if self.expansions is None else kind(self.expansions)

    def fingerprint(self, name: str) -> str:
        """Return a name of the files a system is given."""
        kind: Any = PEERS[name]
        if kind.needs is None:
            return ""
        source: Any = self.expansions
        if issubclass(kind, LearnedSparse):
            source = (self.weights or {}).get(name)
        elif issubclass(kind, Trained):
            source = None if self.trained is None else self.trained / kind.method
        return "" if source is None else file_names(Path(source))

    def _sparse(self, kind: type[LearnedSparse], source: str, task: Task) -> Peer:
        texts = dict(zip([*task.tune.ids, *task.test.ids], [*task.tune.texts, *task.test.texts], strict=True))
        folder = Path(source)
        if not (folder / "documents.jsonl").is_file():
            hub = kind.recipe.hub if source == "hub" else source
            if hub is None:
                raise invalid("--weights", f"{kind.name}=PATH of a model: the hub has none", f"'{kind.name}={source}'")
            model = TermWeights(hub, kind.recipe)
            folder = self.cache / f"{task.name}-{kind.name}-{digest(task.manifest, [source, *texts])}"
            for file, ids, own in (
                ("documents.jsonl", task.ids, task.texts),
                ("queries.jsonl", list(texts), list(texts.values())),
            ):
                asked = file == "queries.jsonl"
                make_weights(folder / file, ids, own, model, queries=asked, progress=self.progress)
        check_order(folder / "documents.jsonl", task.ids)
        weighed = {texts[id]: own for id, own in read_weights(folder / "queries.jsonl") if id in texts}
        missing = [id for id, text in texts.items() if text not in weighed]
        if missing:
            raise InvalidParameter(f"{folder / 'queries.jsonl'}: no weights of query {missing[0]!r}.")
        return kind(folder / "documents.jsonl", weighed)


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


def run(plans: Sequence[Plan], task: Task, results: Results, inputs: Inputs, progress: Progress) -> None:
    """Measure every system that is not yet in the results; one that several plans measure is built once."""
    here = machine()
    exact: list[list[int]] = []
    ceiling = 0.0
    systems = _order(plans)
    with progress.phase(f"{', '.join(plan.name for plan in plans)}: {task.name}, {task.encoder}", len(systems)) as step:
        for system in systems:
            wanted = [plan for plan in plans if system in ("Flat", *plan.systems)]
            keys = {plan.name: _key(plan, task, system, inputs, here) for plan in wanted}
            missing = [plan for plan in wanted if not results.of(keys[plan.name])]
            peer = inputs.system(system, task) if missing or system == "Flat" else None
            if peer is not None:
                trial = Trial.build(peer, task, threads=cores())
                if system == "Flat":
                    exact = trial.rows(task.test, {}, K)
                    ceiling = trial.ceiling()
                common = {
                    "collection": task.name,
                    "encoder": task.encoder,
                    "system": system,
                    "n_docs": len(task.ids),
                    "n_queries": len(task.test.ids),
                    "tuned_on": f"{task.tune.split} ({len(task.tune.ids)})",
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
                    allowed = _scored_by_hi2(results.of(_key(plan, task, Hybrid.name, inputs, here)))
                    lines, values = _measured(plan, trial, plan.goal * ceiling, exact, allowed)
                    named = {"key": keys[plan.name], "experiment": plan.name}
                    results.add([{**named, **common, **line} for line in lines], values)
            step(1)


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


def _order(plans: Sequence[Plan]) -> list[str]:
    """Flat first, which sets the goal, then hi2, whose documents scored the simplest rival is given."""
    named = list(dict.fromkeys(name for plan in plans for name in plan.systems))
    first = ["Flat", *(name for name in named if name == Hybrid.name)]
    return [*first, *(name for name in named if name not in first)]


def _scored_by_hi2(lines: Sequence[dict[str, Any]]) -> int | None:
    """How many documents hi2 scores of a tuning question at the setting it was given."""
    return round(lines[0]["scored_tuning"]) if lines and lines[0].get("scored_tuning") else None


def _measured(
    plan: Plan, trial: Trial, goal: float, exact: list[list[int]], allowed: int | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a system's lines and the values by question of its first."""
    measures = [Measure.named(name) for name in plan.measures]
    if plan.kind == "stress":
        return _stressed(trial, goal, measures)
    if plan.kind == "curves":
        trial.tune(2.0)  # nothing reaches it, so every setting is tried
        chosen = [one.setting for one in _front(trial)]
    elif plan.setting is not None and isinstance(trial.peer, Hybrid):
        chosen = [plan.setting]
    elif type(trial.peer) is Rescored and allowed is not None:
        chosen = [{"n": max(K, allowed)}]
    else:
        chosen = [trial.tune(goal).setting]
    brief = plan.kind == "curves"
    outcomes: list[Outcome] = [trial.measure(setting, measures, exact, brief=brief) for setting in chosen]
    swept = [{"setting": dict(one.setting), "recall": one.recall, "seconds": one.seconds} for one in trial.tried]
    lines = [
        {
            **outcome.to_json(),
            "intervals": {name: bootstrap_interval(values) for name, values in outcome.values.items()},
            "scored_tuning": trial.scored(trial.task.tune, outcome.setting) if plan.kind == "points" else None,
            "swept": swept if i == 0 else [],
        }
        for i, outcome in enumerate(outcomes)
    ]
    return lines, dict(outcomes[0].values)


def _stressed(trial: Trial, goal: float, measures: Sequence[Measure]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Tune on questions as they are; measure on changed ones, beside brute force over the same."""
    setting = trial.tune(goal).setting
    lines: list[dict[str, Any]] = []
    first: dict[str, Any] = {}
    for name, task in variants(trial.task, trial.task.query_encoder).items():
        scores = task.test.vectors @ task.vectors.T
        exact = np.argsort(-scores, axis=1, kind="stable")[:, :K].tolist()
        outcome = Trial(trial.peer, task).measure(setting, measures, exact)
        lines.append({**outcome.to_json(), "variant": name, "swept": []})
        first = first or dict(outcome.values)
    return lines, first


def _front(trial: Trial) -> list[Any]:
    """The settings that no other beats in both recall and time on the tuning questions, at most a dozen."""
    front: list[Any] = []
    for one in sorted(trial.tried, key=lambda one: (one.seconds, -one.recall)):
        if not front or one.recall > front[-1].recall:
            front.append(one)
    keep = np.unique(np.linspace(0, len(front) - 1, 12).round().astype(int))
    return [front[i] for i in keep]


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


def _key(plan: Plan, task: Task, system: str, inputs: Inputs, here: Mapping[str, Any]) -> str:
    """Names a result by everything it depends on but the code itself, which the version stands for."""
    data: list[Any] = [plan.name, plan.measures, plan.goal, dict(plan.setting or {}), plan.kind, task.fingerprint]
    data += [system, inputs.fingerprint(system), __version__, here["cpu"], here["threads"], here["simd"]]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def file_names(path: Path) -> str:
    """Return a name of a file, or of a folder's files, by their sizes and times; of what is no path, itself."""
    files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
    stated = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return f"{path.name} {stated}" if stated else str(path)


def machine() -> dict[str, Any]:
    """Return what results depend on beside the code: processor, threads, instruction set, versions, commit."""
    return {
        "commit": _commit(),
        "cpu": _cpu(),
        "threads": cores(),
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
        asked = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ}
        )
    except OSError:
        return None
    return asked.stdout.strip() or None
