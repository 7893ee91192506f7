"""How good is one system on one task, and what does it cost? Build it, tune it, measure it on test."""

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

from hi2.arguments import thread_count
from hi2.evaluation.measures import Measure, recall
from hi2.evaluation.peers import Peer, SearcherPeer, Setting
from hi2.evaluation.task import Questions, Task
from hi2.types import Array, Floats, Searcher

#: Hits of every timed search. Deeper measures search a second time, untimed.
K = 100
#: Tuning questions at most, unless a list names them, and how many of them each setting is timed on.
N_TUNING_QUESTIONS, N_TIMED_TUNING_QUESTIONS = 500, 100
#: Test questions that are timed: for a system at one setting, and for a system at many settings.
N_TIMED_QUESTIONS, N_TIMED_QUESTIONS_BRIEF = 1000, 300
#: Test questions whose candidates are compared with the relevant documents.
N_CANDIDATE_QUESTIONS = 500
#: Questions over which the number of scored documents is averaged.
N_SCORED_QUESTIONS = 200
#: Questions that are searched before the clock starts.
N_WARM_UP_QUESTIONS = 20
#: Timed passes over the questions; each question counts with its median.
REPEATS = 3


@dataclass(frozen=True)
class SweptSetting:
    """Recall and median time of one setting on the tuning questions."""

    setting: Setting
    recall: float
    seconds: float


@dataclass
class Trial:
    """A system built over a task, and what the build cost."""

    peer: Peer
    task: Task
    build_seconds: float = 0.0
    build_peak_bytes: int | None = None
    swept: list[SweptSetting] = field(default_factory=list)
    #: Measurements so far, because several experiments may need the same one.
    _cache: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def _cached(self, what: str, setting: Setting, measure: Callable[[], Any]) -> Any:
        key = (what, repr(sorted(setting.items())))
        if key not in self._cache:
            self._cache[key] = measure()
        return self._cache[key]

    @classmethod
    def build(cls, peer: Peer, task: Task, *, threads: int) -> Trial:
        """Build the system with this many threads."""
        gc.collect()
        start = time.perf_counter()
        with PeakMemory() as memory:
            peer.build(task.vectors, task.texts, threads=threads)
        return cls(peer, task, time.perf_counter() - start, memory.peak)

    @property
    def tuning_questions(self) -> Questions:
        """The questions that settings are chosen on: all that a list names, else the first of the split."""
        return self.task.tune if self.task.listed else self.task.tune.first(N_TUNING_QUESTIONS)

    def tune(self, goal: float) -> SweptSetting:
        """Sweep the settings on the tuning questions and return the fastest whose Recall@100 reaches ``goal``.

        If none does, return the one with the highest recall. A setting that takes more than twice as long as one that
        exceeded the goal by 1 % is skipped.
        """
        questions = self.tuning_questions
        enough = min([one.seconds for one in self.swept if one.recall >= 1.01 * goal], default=np.inf)
        known = [one.setting for one in self.swept]
        for setting in self.peer.sweep():
            if setting in known:
                continue
            times, rows = self.time_searches(questions.first(N_TIMED_TUNING_QUESTIONS), setting)
            seconds = float(np.median(times))
            if seconds > 2 * enough:
                continue
            rows += self.rows(questions.after(N_TIMED_TUNING_QUESTIONS), setting, K)
            value = float(np.mean(self.values(questions, rows, Measure("R", K))))
            if value >= 1.01 * goal:
                enough = min(enough, seconds)
            self.swept.append(SweptSetting(setting, value, seconds))
        reached = [one for one in self.swept if one.recall >= goal]
        if reached:
            return min(reached, key=lambda one: one.seconds)
        best = max(one.recall for one in self.swept)
        return min((one for one in self.swept if one.recall >= best), key=lambda one: one.seconds)

    def tune_part(self, goal: float) -> Setting:
        """Tune the part of a composed system by itself, as ``tune`` does, and let the system search with its setting.

        Only the tuning questions are searched. Empty if the system has no such part.
        """
        part = self.peer.part
        if part is None:
            return {}
        setting: Setting = self._cached(f"part for {goal}", {}, lambda: Trial(part.peer, self.task).tune(goal).setting)
        part.use(setting)
        return setting

    def tuning_recall(self) -> float:
        """Return this system's Recall@100 on the tuning questions, without a sweep."""
        questions = self.tuning_questions
        return float(self.values(questions, self.rows(questions, {}, K), Measure("R", K)).mean())

    def mean_scored(self, questions: Questions, setting: Setting) -> float | None:
        """Return the mean number of documents scored per question, None if the system does not report it."""
        some = questions.first(N_SCORED_QUESTIONS)
        pairs = zip(some.vectors, some.texts, strict=True)
        counts = [self.peer.count_scored(vector, text, K, setting) for vector, text in pairs]
        known = [count for count in counts if count is not None]
        return float(np.mean(known)) if known else None

    def rows(self, questions: Questions, setting: Setting, k: int) -> list[list[int]]:
        """Return the rows found for every question."""
        pairs = zip(questions.vectors, questions.texts, strict=True)
        found = (self.peer.search(vector, text, k, setting) for vector, text in pairs)
        return [rows[rows >= 0].tolist() for rows in found]

    def values(self, questions: Questions, rows: Sequence[Sequence[int]], measure: Measure) -> Floats:
        """Return the value of a measure for every question."""
        ideal = questions.judged.ideal
        return np.array(
            [
                measure(self.task.gains(questions, i, own[: measure.k]), ideal(questions.ids[i]))
                for i, own in enumerate(rows)
            ]
        )

    def time_searches(self, questions: Questions, setting: Setting, k: int = K) -> tuple[Array, list[list[int]]]:
        """Return the seconds of every question, and the rows found for it."""
        measured, found = np.empty(len(questions.ids)), []
        for i, (vector, text) in enumerate(zip(questions.vectors, questions.texts, strict=True)):
            start = time.perf_counter()
            rows = self.peer.search(vector, text, k, setting)
            measured[i] = time.perf_counter() - start
            found.append(rows[rows >= 0].tolist())
        return measured, found

    def measure(
        self, setting: Setting, measures: Sequence[Measure], exact: list[list[int]], *, brief: bool = False
    ) -> Outcome:
        """Measure a setting on the test questions: one query at a time, on one thread, after a warm-up.

        ``brief`` is for curves of many settings. It times fewer questions and skips throughput and candidate recall.
        """
        questions = self.task.test
        timed = questions.first(N_TIMED_QUESTIONS_BRIEF if brief else N_TIMED_QUESTIONS)

        def clock() -> tuple[Array, list[list[int]]]:
            self.time_searches(questions.first(N_WARM_UP_QUESTIONS), setting)
            passes = [self.time_searches(timed, setting) for _ in range(REPEATS)]
            return np.median([times for times, _ in passes], axis=0), passes[0][1]

        times, first_rows = self._cached(f"times of {len(timed.ids)}", setting, clock)
        others = questions.after(len(first_rows))
        rows = self._cached(f"best {K}", setting, lambda: first_rows + self.rows(others, setting, K))
        deepest = max([K, *(m.k for m in measures)])
        deep = self._cached(f"best {deepest}", setting, partial(self.rows, questions, setting, deepest))
        values = {str(m): self.values(questions, deep if m.k > K else rows, m) for m in measures}
        for k in (10, K):
            pairs = zip(rows, exact, strict=True)
            values[f"agreement@{k}"] = np.array([recall(own, best[:k], k=k) for own, best in pairs])
        throughput, threads = None, thread_count(None)
        start = time.perf_counter()
        if not brief and self.peer.search_batch(questions.vectors, questions.texts, K, setting, threads=threads):
            throughput = len(questions.ids) / (time.perf_counter() - start)
        return Outcome(
            setting,
            values,
            {
                "mean": 1e3 * float(times.mean()),
                **{f"p{p}": 1e3 * float(np.percentile(times, p)) for p in (50, 95, 99)},
            },
            throughput,
            self.mean_scored(questions, setting),
            deep,
            {} if brief else self._cached("parts", setting, partial(self._recall_parts, setting, rows)),
        )

    def _recall_parts(self, setting: Setting, rows: list[list[int]]) -> dict[str, float]:
        """Return candidate recall, codec loss, and the share of relevant hits by kind of list.

        Empty if the system does not report its candidates.
        """
        questions = self.task.test.first(N_CANDIDATE_QUESTIONS)
        rows = rows[:N_CANDIDATE_QUESTIONS]
        wanted, found, shares = [], [], []
        for i, own in enumerate(rows):
            vector, text = questions.vectors[i], questions.texts[i]
            sides = self.peer.candidates(vector, text, setting)
            if sides is None:
                return {}
            clusters, terms = (set(side.tolist()) for side in sides)
            union = list(clusters | terms)
            # Answers grade only the first passage that has one, so this counts at most one.
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
    """Values per test question at one setting, and what the searches cost."""

    setting: Setting
    values: dict[str, Floats]
    milliseconds: dict[str, float]
    throughput: float | None
    scored: float | None
    rows: list[list[int]]
    recall_parts: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return means and costs as a result line."""
        return {
            "setting": dict(self.setting),
            "measures": {name: float(values.mean()) for name, values in self.values.items()},
            "milliseconds": self.milliseconds,
            "queries_per_second": self.throughput,
            "scored": self.scored,
            **self.recall_parts,
        }


def evaluate(searcher: Searcher, task: Task, measures: Sequence[Measure]) -> Outcome:
    """Measure any searcher on the test questions of a task: quality, agreement with brute force, and latency.

    The hits must carry the ids of the collection. Nothing is tuned; to sweep settings, write a ``Peer``.
    """
    trial = Trial(SearcherPeer(searcher, task.ids), task)
    return trial.measure({}, measures, task.nearest(task.test, K))


class PeakMemory:
    """The largest growth of resident memory while a block runs; None if the operating system does not report it."""

    def __init__(self) -> None:
        self.peak: int | None = None
        self._stop = threading.Event()

    def __enter__(self) -> PeakMemory:
        before = resident_bytes()
        if before is None:
            return self
        self.peak = 0

        def watch() -> None:
            while not self._stop.wait(0.02):
                self.peak = max(self.peak or 0, (resident_bytes() or before) - before)

        self._watcher = threading.Thread(target=watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self.peak is not None:
            self._watcher.join()


def resident_bytes() -> int | None:
    """Return the resident memory of this process, None if it is not known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
