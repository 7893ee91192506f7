"""What are the words of a text in any language? Letters, digits and marks; pairs of characters for unspaced scripts."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from hi2.text.nfkc import nfkc

# Scripts written without spaces between words: Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uac00-\ud7af\U00020000-\U0003ffff"
)
_LAST_MARK = 0x1E94A  # the last combining mark, except variation selectors


def unicode_words(text: str) -> list[str]:
    """Return the words of a text in form NFKC, with case folded.

    A run of a script without spaces becomes overlapping pairs of its characters.

    >>> unicode_words("Über 3 Flüsse: 東京都")
    ['über', '3', 'flüsse', '東京', '京都']
    """
    found: list[str] = []
    for piece in _word_pattern().findall(nfkc(text).casefold()):
        if len(piece) > 2 and _UNSPACED_START.match(piece):
            found.extend(piece[i : i + 2] for i in range(len(piece) - 1))
        else:
            found.append(piece)
    return found


@cache
def _word_pattern() -> re.Pattern[str]:
    """Match runs of an unspaced script, or words: letters and digits and, unlike ``\\w``, combining marks."""
    runs: list[list[int]] = []
    for code in range(0x300, _LAST_MARK + 1):
        if unicodedata.category(chr(code)) not in ("Mn", "Mc"):
            continue
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    marks = "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)
    return re.compile(f"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[\\w{marks}\u200c\u200d])+")


_UNSPACED_START = re.compile(f"[{_UNSPACED}]")
