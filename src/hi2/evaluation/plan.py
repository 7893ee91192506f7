"""What should be measured? An experiment, read from a TOML file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from hi2.errors import InvalidParameter, MissingExtra, invalid
from hi2.evaluation.measures import Measure
from hi2.evaluation.peers import PEERS

KINDS, AXES = ("points", "quality", "curves", "stress"), ("milliseconds", "scored")


@dataclass(frozen=True)
class Plan:
    """An experiment, read from a TOML file.

    ``kind`` is 'points' (each system at one setting), 'quality' (each at its best setting, timed in turns), 'curves'
    (each system at many settings) or 'stress' (one setting, test questions changed in several ways). A point uses
    ``setting`` if it is given. Otherwise it uses the fastest setting that reaches the share ``goal`` of Flat's
    Recall@100 on the tuning questions. The best setting is the one with the highest ``choose`` on the tuning questions.
    ``settings`` lists, by system, what a 'quality' experiment tries instead of the system's own sweep. A value in it
    may be a list; all combinations are tried.
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
    choose: str = "nDCG@10"
    settings: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str) -> Plan:
        """Read a built-in experiment by its name, or a TOML file by its path."""
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
        for measure in (*plan.measures, plan.choose):
            Measure.named(measure)
        if plan.kind == "quality" and plan.choose not in plan.measures:
            raise invalid("choose", f"one of the measures, {', '.join(plan.measures)}", f"'{plan.choose}'")
        if not isinstance(plan.settings, dict):
            raise invalid("settings", "a table with a list of settings per system", repr(plan.settings))
        for system in (*plan.systems, *plan.settings):
            if system not in PEERS:
                raise invalid("systems", f"among {', '.join(PEERS)}", f"'{system}'")
        for system, own in plan.settings.items():
            if not own or not isinstance(own, list) or not all(isinstance(one, dict) for one in own):
                raise invalid("settings", f"a list of tables for {system!r}", repr(own))
        return plan

    def settings_of(self, system: str) -> list[dict[str, Any]] | None:
        """Return the settings to try for a system, None for its own sweep.

        >>> plan = Plan("a", "A", "quality", [], [], settings={"hi2": [{"clusters": [4, 8], "per_doc": 7}]})
        >>> plan.settings_of("hi2")
        [{'clusters': 4, 'per_doc': 7}, {'clusters': 8, 'per_doc': 7}]
        """
        if system not in self.settings:
            return None
        grids = [
            {name: value if isinstance(value, list) else [value] for name, value in one.items()}
            for one in self.settings[system]
        ]
        return [dict(zip(grid, values, strict=True)) for grid in grids for values in product(*grid.values())]

    def for_systems(self, systems: Sequence[str] | None, against: str | None = None) -> Plan:
        """Return the plan with these systems and this reference for significance tests; None keeps the plan's own."""
        for option, names in (("--system", systems or []), ("--against", [against] if against else [])):
            for name in names:
                if name not in PEERS:
                    raise invalid(option, f"one of {', '.join(PEERS)}", f"'{name}'")
        chosen = list(systems or self.systems)
        if against and against not in chosen:
            chosen.append(against)
        return replace(self, systems=chosen, against=against or self.against)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the data of a TOML document."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError as error:
            raise MissingExtra("Experiments need an extra; install it with: pip install 'hi2[lab]'") from error
    data: dict[str, Any] = tomllib.loads(text)
    return data
