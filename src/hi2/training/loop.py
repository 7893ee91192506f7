"""How does training run? Adam over epochs of batches; the best state on dev is kept, with a checkpoint per epoch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from hi2.errors import Error, InvalidParameter
from hi2.progress import Progress
from hi2.training.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint, unusable
from hi2.training.examples import Batch, Examples
from hi2.training.losses import divergence
from hi2.training.settings import Settings
from hi2.types import Floats

#: Settings that may be changed when a run is resumed.
CHANGEABLE_SETTINGS = ("rate", "epochs", "patience")


class Diverged(Error):
    """The loss or a parameter is not finite."""


@dataclass
class Curve:
    """Losses by epoch.

    ``train`` is the mean loss of a batch, summed over the students still in training. ``dev`` holds the loss of every
    student on the dev queries: first before training, then after each epoch until the student has settled.
    """

    train: list[float] = field(default_factory=list)
    dev: dict[str, list[float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON data."""
        return {"train": self.train, "dev": self.dev}


class Loop:
    """Train several students of one teacher in one run, by minimising the sum of their losses.

    ``data`` names the data in the checkpoint. The learning rate is ``rate_factor`` times that of the settings.
    """

    def __init__(
        self,
        students: Mapping[str, Any],
        vectors: Floats,
        temperature: float,
        settings: Settings,
        *,
        folder: Path | None,
        data: str,
        rate_factor: float = 1.0,
    ) -> None:
        self.students = nn.ModuleDict(dict(students))
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.students.to(self.device)
        self.curve = Curve(dev={name: [] for name in students})
        self._vectors, self._temperature, self._settings = vectors, temperature, settings
        trainable = [parameter for parameter in self.students.parameters() if parameter.requires_grad]
        self._adam = torch.optim.Adam(trainable, lr=rate_factor * settings.rate)
        self._best: dict[str, dict[str, torch.Tensor]] = {}
        self._folder, self._epoch, self._rate_factor = folder, 0, rate_factor
        #: A run resumes only from a checkpoint with the same identity.
        fixed = {name: value for name, value in settings.to_json().items() if name not in CHANGEABLE_SETTINGS}
        self._identity = json.dumps([fixed, data, sorted(students)], sort_keys=True)

    def run(self, examples: Examples, dev: Examples, bars: Progress, phase: str = "train") -> None:
        """Train until every student has settled, and restore each to its best state on dev."""
        self._resume()
        if not any(self.curve.dev.values()):
            self._evaluate(dev)
            self._save()
        with bars.phase(phase, self._settings.epochs) as advance:
            advance(self._epoch)
            while self._epoch < self._settings.epochs and not all(map(self._has_settled, self.students)):
                self.curve.train.append(self._train_epoch(examples))
                self._epoch += 1
                self._evaluate(dev)
                self._check_finite()
                self._save()
                advance(1)
        for name, state in self._best.items():
            self.students[name].load_state_dict(state)

    def losses(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return the loss of every student still in training, its penalty included."""
        vectors = torch.from_numpy(batch.vectors).to(self.device)
        pool = torch.from_numpy(self._vectors[batch.pool]).to(self.device)
        teacher = vectors @ pool.T / self._temperature
        losses = {}
        for name, student in self._unsettled_students():
            loss = divergence(teacher, student.logits(vectors, batch, self._temperature))
            penalty = student.penalty(batch.pool, self._temperature)
            losses[name] = loss if penalty is None else loss + penalty
        return losses

    def _unsettled_students(self) -> Iterator[tuple[str, Any]]:
        """Yield the students still in training; settled ones are skipped and cost nothing."""
        for name, student in self.students.items():
            if not self._has_settled(name):
                yield name, student

    def _train_epoch(self, examples: Examples) -> float:
        total = 0.0
        step = 0
        torch.manual_seed(1_000_003 * self._settings.seed + self._epoch)  # the same dropout when a run is resumed
        self.students.train()
        for step, batch in enumerate(examples.batches(self._settings, self._epoch), 1):
            loss = torch.stack(list(self.losses(batch).values())).sum()
            if not torch.isfinite(loss):
                raise Diverged(
                    f"The loss is {float(loss.detach())} in epoch {self._epoch + 1}, step {step}: lower 'rate' "
                    f"({self._settings.rate:g}) and go on from the checkpoint of the epoch before."
                )
            self._adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._adam.step()
            total += float(loss.detach())
        return total / max(step, 1)

    @torch.no_grad()
    def _evaluate(self, dev: Examples) -> None:
        """Compute the dev loss of every student, and keep the state of those that improved."""
        self.students.eval()
        sums: dict[str, float] = {}
        for batch in dev.fixed_batches(self._settings):
            for name, loss in self.losses(batch).items():
                sums[name] = sums.get(name, 0.0) + float(loss) * len(batch.vectors)
        for name, total in sums.items():
            value, student = total / len(dev.queries), self.students[name]
            if not self.curve.dev[name] or value < min(self.curve.dev[name]):
                self._best[name] = {key: tensor.detach().clone() for key, tensor in student.state_dict().items()}
            self.curve.dev[name].append(value)

    def _check_finite(self) -> None:
        """Raise if the last step of an epoch left values that are not finite, before they are saved."""
        finite = all(bool(torch.isfinite(parameter).all()) for parameter in self.students.parameters())
        if not finite or not all(np.isfinite(values[-1]) for values in self.curve.dev.values()):
            raise Diverged(
                f"Epoch {self._epoch} ended in numbers that are not finite: lower 'rate' ({self._settings.rate:g}) and "
                f"go on from the checkpoint of the epoch before."
            )

    def _has_settled(self, name: str) -> bool:
        """Whether the dev loss of a student has not improved for ``patience`` epochs."""
        values = self.curve.dev[name]
        return len(values) - 1 - int(np.argmin(values)) >= self._settings.patience if values else False

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        if self._folder is None:
            return
        tensors = {
            "students": self.students.state_dict(),
            "adam": self._adam.state_dict()["state"],
            "best": self._best,
        }
        facts = {"identity": self._identity, "epoch": self._epoch, "curve": self.curve.to_json()}
        save_checkpoint(self._folder / CHECKPOINT, tensors, facts)

    def _resume(self) -> None:
        path = None if self._folder is None else self._folder / CHECKPOINT
        if path is None or not path.is_file():
            return
        tensors, facts = load_checkpoint(path, self.device)
        if facts.get("identity") != self._identity:
            raise InvalidParameter(f"{path} is of other settings or data. Remove it, or train into another folder.")
        try:
            self.students.load_state_dict(tensors["students"])
            # The learning rate and the other options of Adam come from the settings of this run.
            adam = {int(number): state for number, state in tensors.get("adam", {}).items()}
            self._adam.load_state_dict({**self._adam.state_dict(), "state": adam})
            self._epoch, self._best = int(facts["epoch"]), tensors.get("best", {})
            self.curve = Curve(**facts["curve"])
        except Exception as error:
            raise unusable(path, error) from error
