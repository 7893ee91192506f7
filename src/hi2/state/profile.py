"""What did tuning find? A setting of a search, with what it promises and the model it belongs to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

from hi2.errors import FormatError, described, invalid
from hi2.state.benefit import DEFAULT_BENEFIT, Benefit
from hi2.state.model import Model


@dataclass(frozen=True)
class Profile:
    """Arguments of a search, chosen by ``tune``: what they ``promise``, and the fingerprint of the ``model``.

    None leaves an argument to the default of the search.
    """

    clusters: int | None = None
    terms: int | None = None
    per_doc: int | None = None
    refine: int | None = None
    adaptive: float | None = None
    lexical: float | None = None
    benefit: Benefit = DEFAULT_BENEFIT
    promise: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a search."""
        names = ("clusters", "terms", "per_doc", "refine", "adaptive", "lexical")
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
        """Return what ``to_json`` wrote. A profile without a weight of words was tuned for ranking by vectors alone."""
        try:
            own = {name: data[name] for name in ("clusters", "terms", "per_doc", "refine", "adaptive")}
            weights = [float(weight) for weight in data["benefit"]]
            counts = [value for name, value in own.items() if name != "adaptive" and value is not None]
            adaptive, lexical = own["adaptive"], data.get("lexical", 0.0)
            if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts):
                raise ValueError("a count is not one")
            if adaptive is not None and (isinstance(adaptive, (bool, str)) or not 0 <= adaptive <= 1):
                raise ValueError("adaptive is not a share")
            if lexical is not None and (isinstance(lexical, (bool, str)) or not 0 <= float(lexical) < math.inf):
                raise ValueError("lexical is not a weight")
            if not all(map(math.isfinite, weights)):
                raise ValueError("a benefit is not finite")
            promise = dict(data["promise"])
            if type(promise.get("index_documents", 0)) is not int:
                raise ValueError("a number of documents is not one")
            return cls(**own, lexical=lexical, benefit=Benefit(*weights), promise=promise, model=str(data["model"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"A stored profile cannot be read: {error!r}.") from error


def check_profile_name(name: str) -> None:
    """Refuse a name that is empty or not a string."""
    if not isinstance(name, str) or not name:
        raise invalid("name", "a name", described(name))
