"""How is text normalised in linear time? Python sorts marks by insertion, so long runs of them are sorted before."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_LAST_MARK = 0x1E94A  # no character above becomes combining marks
_LONG = 64  # Python may sort fewer marks


def nfkc(text: str) -> str:
    """Return the text in Unicode's form NFKC."""
    if not text.isascii():
        text = _long_runs().sub(_sort_run, text)
    return unicodedata.normalize("NFKC", text)


@cache
def _long_runs() -> re.Pattern[str]:
    """Match long runs of characters that become combining marks alone."""
    marks = (c for c in map(chr, range(0x300, _LAST_MARK + 1)) if all(map(unicodedata.combining, _decomposed(c))))
    return re.compile(f"[{''.join(marks)}]{{{_LONG},}}")


def _sort_run(run: re.Match[str]) -> str:
    return "".join(sorted("".join(map(_decomposed, run[0])), key=unicodedata.combining))


def _decomposed(character: str) -> str:
    return unicodedata.normalize("NFKD", character)
