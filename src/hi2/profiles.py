"""What was found out by tuning? A setting of a search under a name, with what it promises and for which model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

from hi2.adapting import DEFAULT_BENEFIT, Benefit
from hi2.errors import FormatError, invalid
from hi2.model import Model


@dataclass(frozen=True)
class Profile:
    """A search's arguments, chosen by ``tune``; ``promise`` says what for, ``model`` names the model they belong to."""

    clusters: int | None = None
    terms: int | None = None
    per_doc: int | None = None
    refine: int | None = None
    adaptive: float | None = None
    benefit: Benefit = DEFAULT_BENEFIT
    promise: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""

    def arguments(self) -> dict[str, Any]:
        """Return what a search is called with."""
        names = ("clusters", "terms", "per_doc", "refine", "adaptive")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def check(self, model: Model) -> None:
        """Refuse a profile that was tuned for another model."""
        if self.model != model.fingerprint:
            raise invalid("profile", "one that was tuned for this index's own model", "a profile of another model")

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON data."""
        return {**asdict(self), "benefit": list(astuple(self.benefit)), "promise": dict(self.promise)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Profile:
        """Return what ``to_json`` wrote."""
        try:
            own = {name: data[name] for name in ("clusters", "terms", "per_doc", "refine", "adaptive")}
            numbers = [float(number) for number in data["benefit"]]
            counts = [value for name, value in own.items() if name != "adaptive" and value is not None]
            adaptive = own["adaptive"]
            if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
                raise ValueError("a count is not one")
            if adaptive is not None and not 0 <= float(adaptive) <= 1:
                raise ValueError("adaptive is not a share")
            if not all(map(math.isfinite, numbers)):
                raise ValueError("a benefit is not finite")
            return cls(**own, benefit=Benefit(*numbers), promise=dict(data["promise"]), model=str(data["model"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"A stored profile cannot be read: {error!r}.") from error
