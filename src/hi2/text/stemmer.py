"""Which forms of a word are one term? Those that a Snowball algorithm gives the same stem."""

from __future__ import annotations

from functools import cache
from typing import Any

from hi2.errors import InvalidParameter, described, invalid


def load_stemmer(name: str) -> Any:
    """Return the Snowball stemmer of this name; ``stemWords`` is its method."""
    import Stemmer

    if not isinstance(name, str):
        raise invalid("stemmer", "the name of a Snowball algorithm, or None", described(name))
    try:
        return Stemmer.Stemmer(name, 0)  # its cache takes longer than stemming
    except (KeyError, AttributeError, ValueError):
        known = ", ".join(sorted(Stemmer.algorithms()))
        raise InvalidParameter(f"The 'stemmer' parameter must be one of {known}. Got {name!r}.") from None


@cache
def stemmer_names() -> frozenset[str]:
    """Return the names of the Snowball algorithms, such as 'english'."""
    import Stemmer

    return frozenset(Stemmer.algorithms())
