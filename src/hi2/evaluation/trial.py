"""How good is one system on one task, and what does it cost? Built, tuned on the tuning questions, measured on test."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hi2.evaluation.measures import Measure, recall
from hi2.evaluation.peers import Peer, Setting
from hi2.evaluation.task import Questions, Task
from hi2.types import Array, Floats

#: Hits of every timed search, and how deep the deepest measure looks.
K = 100
#: Tuning questions at most; a setting is timed on fewer. Test questions that are timed, and those whose candidates are
#: looked at one by one.
TUNED_ON, TIMED_ON, CLOCKED, PARTS_ON = 500, 100, 1000, 500
#: Test questions that are timed where a system is measured at many settings; questions whose documents are counted.
CLOCKED_BRIEFLY, SCORED_ON = 300, 200
REPEATS = 3


@dataclass(frozen=True)
class Tried:
    """One swept setting on the tuning questions."""

    setting: Setting
    recall: float
    seconds: float


@dataclass
class Trial:
    """A system built over a task, with what its building cost."""

    peer: Peer
    task: Task
    build_seconds: float = 0.0
    build_peak_bytes: int | None = None
    tried: list[Tried] = field(default_factory=list)
    #: What was measured already: several experiments may ask for the same.
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def _once(self, what: str, setting: Setting, measure: Callable[[], Any]) -> Any:
        key = (what, repr(sorted(setting.items())))
        if key not in self._known:
            self._known[key] = measure()
        return self._known[key]

    @classmethod
    def build(cls, peer: Peer, task: Task, *, threads: int) -> Trial:
        """Build with all threads."""
        gc.collect()
        start = time.perf_counter()
        with Memory() as memory:
            peer.build(task.vectors, task.texts, threads=threads)
        return cls(peer, task, time.perf_counter() - start, memory.peak)

    def tune(self, goal: float) -> Tried:
        """Sweep on the tuning questions; return the fastest setting whose Recall@100 reaches ``goal``, else the best.

        Settings much slower than one that reached the goal with room to spare are not looked at further.
        """
        questions = self.task.tune.first(TUNED_ON)
        enough = min([one.seconds for one in self.tried if one.recall >= 1.01 * goal], default=np.inf)
        known = [one.setting for one in self.tried]
        for setting in self.peer.sweep():
            if setting in known:
                continue
            times, rows = self._timed(questions.first(TIMED_ON), setting)
            seconds = float(np.median(times))
            if seconds > 2 * enough:
                continue
            rows += self.rows(questions.after(TIMED_ON), setting, K)
            value = float(np.mean(self.values(questions, rows, Measure("R", K))))
            if value >= 1.01 * goal:
                enough = min(enough, seconds)
            self.tried.append(Tried(setting, value, seconds))
        reached = [one for one in self.tried if one.recall >= goal]
        if reached:
            return min(reached, key=lambda one: one.seconds)
        best = max(one.recall for one in self.tried)
        return min((one for one in self.tried if one.recall >= best), key=lambda one: one.seconds)

    def ceiling(self) -> float:
        """Return this system's Recall@100 on the questions that settings are tried on."""
        questions = self.task.tune.first(TUNED_ON)
        return float(self.values(questions, self.rows(questions, {}, K), Measure("R", K)).mean())

    def scored(self, questions: Questions, setting: Setting) -> float | None:
        """Return how many documents a question scores, None where the system does not say."""
        some = questions.first(SCORED_ON)
        pairs = zip(some.vectors, some.texts, strict=True)
        counts = [self.peer.scored(vector, text, K, setting) for vector, text in pairs]
        known = [count for count in counts if count is not None]
        return float(np.mean(known)) if known else None

    def rows(self, questions: Questions, setting: Setting, k: int) -> list[list[int]]:
        """Return what is found for every question."""
        pairs = zip(questions.vectors, questions.texts, strict=True)
        found = (self.peer.search(vector, text, k, setting) for vector, text in pairs)
        return [rows[rows >= 0].tolist() for rows in found]

    def values(self, questions: Questions, rows: Sequence[Sequence[int]], measure: Measure) -> Floats:
        """Return a measure of every question."""
        ideal = questions.judged.ideal
        return np.array(
            [
                measure(self.task.gains(questions, i, own[: measure.k]), ideal(questions.ids[i]))
                for i, own in enumerate(rows)
            ]
        )

    def _timed(self, questions: Questions, setting: Setting) -> tuple[Array, list[list[int]]]:
        """How long every question takes, and what is found for it."""
        measured, found = np.empty(len(questions.ids)), []
        for i, (vector, text) in enumerate(zip(questions.vectors, questions.texts, strict=True)):
            start = time.perf_counter()
            rows = self.peer.search(vector, text, K, setting)
            measured[i] = time.perf_counter() - start
            found.append(rows[rows >= 0].tolist())
        return measured, found

    def measure(
        self, setting: Setting, measures: Sequence[Measure], exact: list[list[int]], *, brief: bool = False
    ) -> Outcome:
        """Measure a setting on the test questions, one query at a time on one thread, after a warm-up.

        ``brief`` times fewer and does not look into the lists: for curves of many settings.
        """
        questions = self.task.test
        clocked = questions.first(CLOCKED_BRIEFLY if brief else CLOCKED)

        def clock() -> tuple[Array, list[list[int]]]:
            self._timed(questions.first(20), setting)
            passes = [self._timed(clocked, setting) for _ in range(REPEATS)]
            return np.median([times for times, _ in passes], axis=0), passes[0][1]

        times, timed = self._once(f"times of {len(clocked.ids)}", setting, clock)
        others = questions.after(len(timed))
        rows = self._once(f"best {K}", setting, lambda: timed + self.rows(others, setting, K))
        deepest = max([K, *(m.k for m in measures)])
        deep = self._once(f"best {deepest}", setting, partial(self.rows, questions, setting, deepest))
        values = {str(m): self.values(questions, deep if m.k > K else rows, m) for m in measures}
        for k in (10, K):
            pairs = zip(rows, exact, strict=True)
            values[f"agreement@{k}"] = np.array([recall(own, best[:k], k=k) for own, best in pairs])
        throughput = None
        start = time.perf_counter()
        if not brief and self.peer.search_batch(questions.vectors, questions.texts, K, setting, threads=cores()):
            throughput = len(questions.ids) / (time.perf_counter() - start)
        return Outcome(
            setting,
            values,
            {
                "mean": 1e3 * float(times.mean()),
                **{f"p{p}": 1e3 * float(np.percentile(times, p)) for p in (50, 95, 99)},
            },
            throughput,
            self.scored(questions, setting),
            deep,
            {} if brief else self._once("parts", setting, partial(self._parts, setting, rows)),
        )

    def _parts(self, setting: Setting, rows: list[list[int]]) -> dict[str, float]:
        """Candidate recall and codec loss apart, and by which lists relevant hits came; only where a system can say."""
        questions = self.task.test.first(PARTS_ON)
        rows = rows[:PARTS_ON]
        wanted, found, shares = [], [], []
        for i, own in enumerate(rows):
            vector, text = questions.vectors[i], questions.texts[i]
            sides = self.peer.candidates(vector, text, setting)
            if sides is None:
                return {}
            clusters, terms = (set(side.tolist()) for side in sides)
            union = list(clusters | terms)
            # One candidate at a time: of answers, one is enough.
            gains = self.task.gains(questions, i, union)
            ideal = questions.judged.ideal(questions.ids[i])
            wanted.append(min(1.0, sum(gain > 0 for gain in gains) / len(ideal)))
            exact = np.array(union, np.int64)
            if len(exact):
                exact = exact[np.argsort(-(self.task.vectors[exact] @ self.peer.asked(vector)), kind="stable")[:K]]
            found.append(Measure("R", K)(self.task.gains(questions, i, exact.tolist()), ideal))
            hits = [row for row, gain in zip(own, self.task.gains(questions, i, own), strict=True) if gain > 0]
            shares += [(row in clusters, row in terms) for row in hits]
        actual = self.values(questions, rows, Measure("R", K))
        return {
            "candidate_recall": float(np.mean(wanted)),
            "exact_recall": float(np.mean(found)),
            "codec_loss": float(np.mean(found) - np.mean(actual)),
            "by_clusters_only": float(np.mean([c and not t for c, t in shares])) if shares else 0.0,
            "by_terms_only": float(np.mean([t and not c for c, t in shares])) if shares else 0.0,
            "by_both": float(np.mean([c and t for c, t in shares])) if shares else 0.0,
        }


@dataclass(frozen=True)
class Outcome:
    """What a setting gave on the test questions, by question, and what it cost."""

    setting: Setting
    values: dict[str, Floats]
    milliseconds: dict[str, float]
    throughput: float | None
    scored: float | None
    rows: list[list[int]]
    parts: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return means and costs as data."""
        return {
            "setting": dict(self.setting),
            "measures": {name: float(values.mean()) for name, values in self.values.items()},
            "milliseconds": self.milliseconds,
            "queries_per_second": self.throughput,
            "scored": self.scored,
            **self.parts,
        }


class Memory:
    """The largest growth of the resident memory while a block runs; None where the system does not tell."""

    def __init__(self) -> None:
        self.peak: int | None = None
        self._stop = threading.Event()

    def __enter__(self) -> Memory:
        before = resident()
        if before is None:
            return self
        self.peak = 0

        def watch() -> None:
            while not self._stop.wait(0.02):
                self.peak = max(self.peak or 0, (resident() or before) - before)

        self._watcher = threading.Thread(target=watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self.peak is not None:
            self._watcher.join()


def resident() -> int | None:
    """Return the bytes of memory the process holds."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def cores() -> int:
    """Return how many threads a build may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
