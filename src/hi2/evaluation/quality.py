"""How good is each system at its best setting, and how fast is it then? Chosen on tuning questions, timed in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hi2.errors import InvalidParameter
from hi2.evaluation.measures import Measure
from hi2.evaluation.peers import Setting
from hi2.evaluation.significance import bootstrap_interval
from hi2.evaluation.task import Questions
from hi2.evaluation.trial import (
    N_TIMED_QUESTIONS,
    N_TIMED_TUNING_QUESTIONS,
    N_WARM_UP_QUESTIONS,
    REPEATS,
    Trial,
)
from hi2.types import Array, Floats

#: Hits of the searches that are measured and timed. A measure at k comes from the search with the fewest hits above k.
KS = (10, 100)
#: A setting this much below the best counts as equal to it; the fastest of the equal ones is chosen.
TOLERANCE = 0.001
#: Questions that one system answers before the next one takes its turn.
TURN = 100


@dataclass(frozen=True)
class TriedSetting:
    """The value of the deciding measure, and the median time, of one setting on the tuning questions."""

    setting: Setting
    value: float
    seconds: float


@dataclass(frozen=True)
class Contender:
    """A built system at the setting that was chosen for it."""

    trial: Trial
    setting: Setting
    tried: Sequence[TriedSetting]
    chosen_by: Measure


def search_depth(measure: Measure) -> int:
    """Return the hits of the search that a measure is taken from."""
    return min((k for k in KS if k >= measure.k), default=measure.k)


def choose_setting(trial: Trial, measure: Measure, settings: Sequence[Setting] | None = None) -> Contender:
    """Try every setting on the tuning questions. Choose the fastest of those within ``TOLERANCE`` of the best.

    ``settings`` are tried instead of the system's own sweep. The chosen setting of a part is added to each.
    """
    questions, k = trial.tuning_questions, search_depth(measure)
    swept = trial.peer.sweep()
    if settings is not None:
        part = trial.peer.part
        own = {} if part is None else {name: swept[0][name] for name in part.peer.sweep()[0]}
        swept = [{**own, **setting} for setting in settings]
    tried: list[TriedSetting] = []
    for setting in swept:
        try:
            if not tried:
                trial.time_searches(questions.first(N_WARM_UP_QUESTIONS), setting, k)
            times, rows = trial.time_searches(questions.first(N_TIMED_TUNING_QUESTIONS), setting, k)
        except (TypeError, KeyError) as error:
            if settings is None:
                raise
            raise InvalidParameter(f"{trial.peer.name} cannot be searched with {dict(setting)}: {error}.") from error
        rows += trial.rows(questions.after(N_TIMED_TUNING_QUESTIONS), setting, k)
        value = float(np.mean(trial.values(questions, rows, measure)))
        tried.append(TriedSetting(setting, value, float(np.median(times))))
    return Contender(trial, best_setting(tried).setting, tried, measure)


def best_setting(tried: Sequence[TriedSetting]) -> TriedSetting:
    """Return the fastest of the settings within ``TOLERANCE`` of the highest value."""
    highest = max(one.value for one in tried)
    return min((one for one in tried if one.value >= highest - TOLERANCE), key=lambda one: one.seconds)


def measure_in_turns(
    contenders: Sequence[Contender], questions: Questions, measures: Sequence[Measure]
) -> list[tuple[dict[str, Any], dict[str, Floats]]]:
    """Return the result line of every system, and its values per question. Systems take turns while they are timed."""
    seconds = {k: _time_in_turns(contenders, questions.first(N_TIMED_QUESTIONS), k) for k in KS}
    found = []
    for i, own in enumerate(contenders):
        rows = {k: own.trial.rows(questions, own.setting, k) for k in {search_depth(measure) for measure in measures}}
        values = {str(m): own.trial.values(questions, rows[search_depth(m)], m) for m in measures}
        by_k = {k: _milliseconds(seconds[k][i]) for k in KS}
        line = {
            "setting": dict(own.setting),
            "measures": {name: float(value.mean()) for name, value in values.items()},
            "milliseconds": by_k.get(search_depth(own.chosen_by), by_k[KS[-1]]),
            "milliseconds_by_k": {str(k): times for k, times in by_k.items()},
            "scored": own.trial.mean_scored(questions, own.setting),
            "intervals": {name: bootstrap_interval(value) for name, value in values.items()},
            "chosen_by": str(own.chosen_by),
            "swept": [
                {"setting": dict(one.setting), str(own.chosen_by): one.value, "seconds": one.seconds}
                for one in own.tried
            ],
        }
        found.append((line, values))
    return found


def _time_in_turns(contenders: Sequence[Contender], questions: Questions, k: int) -> list[Array]:
    """Return the median seconds of every question, by system. The system that begins changes with every turn."""
    passes = np.empty((len(contenders), REPEATS, len(questions.ids)))
    for own in contenders:
        own.trial.time_searches(questions.first(N_WARM_UP_QUESTIONS), own.setting, k)
    turn = 0
    for repeat in range(REPEATS):
        for begin in range(0, len(questions.ids), TURN):
            some = questions.after(begin).first(TURN)
            for place in range(len(contenders)):
                i = (place + turn) % len(contenders)
                times = contenders[i].trial.time_searches(some, contenders[i].setting, k)[0]
                passes[i, repeat, begin : begin + len(times)] = times
            turn += 1
    return list(np.median(passes, axis=1))


def _milliseconds(seconds: Array) -> Mapping[str, float]:
    percentiles = {f"p{p}": 1e3 * float(np.percentile(seconds, p)) for p in (50, 95, 99)}
    return {"mean": 1e3 * float(seconds.mean()), **percentiles}
