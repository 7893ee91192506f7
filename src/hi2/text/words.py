"""Words of any language as terms: Unicode words, optional stemming, bigrams for scripts without spaces.

The term of a word is a hash of it. No vocabulary has to be built, and a word that first occurs in an added document is
a term like any other. Two words may share a term; with 2^18 terms this adds a few candidates and loses none.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from hi2.arguments import integer
from hi2.errors import InvalidParameter, MissingExtra, described, invalid
from hi2.text.nfkc import nfkc
from hi2.types import U32, U64, Bytes

# Scripts written without spaces between words: Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uac00-\ud7af\U00020000-\U0003ffff"
)
_LAST_MARK = 0x1E94A  # the last combining mark, except variation selectors


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


class WordTokenizer:
    """Words as terms.

    ``stemmer`` names a Snowball algorithm ('english', 'german', …; needs the extra ``stem``). Runs of a script without
    spaces become overlapping pairs of characters.

    >>> WordTokenizer().tokens("Über 3 Flüsse: 東京都")
    ['über', '3', 'flüsse', '東京', '京都']
    """

    KIND = "hi2 words"
    pieces: None = None  # no native tokenizer

    def __init__(self, stemmer: str | None = None, *, n_terms: int = 1 << 18) -> None:
        self.n_terms = integer("n_terms", n_terms, low=1 << 8, high=1 << 22)
        self._stemmer = None if stemmer is None else _load_stemmer(stemmer)
        #: What an index stores, so that it can restore the tokenizer.
        self.definition = json.dumps({"kind": self.KIND, "stemmer": stemmer, "n_terms": self.n_terms})
        #: A hash of the definition: tokenizers with the same fingerprint give the same tokens.
        self.fingerprint = hashlib.sha256(self.definition.encode()).hexdigest()
        #: 1 where a token is not a term; here all are.
        self.dropped: Bytes = np.zeros(self.n_terms, np.uint8)

    @classmethod
    def restore(cls, definition: str, n_terms: int | None = None) -> WordTokenizer:
        """Return the tokenizer with a stored definition, which must have ``n_terms`` terms."""
        data = json.loads(definition)
        if n_terms not in (None, data["n_terms"]):
            raise invalid("tokenizer", f"one of {n_terms} terms", f"one of {data['n_terms']}")
        return cls(data["stemmer"], n_terms=data["n_terms"])

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text as strings, in order, repeats included."""
        found: list[str] = []
        for piece in _word_pattern().findall(nfkc(text).casefold()):
            if _UNSPACED_START.match(piece):
                found.extend(piece[i : i + 2] for i in range(len(piece) - 1)) if len(piece) > 1 else found.append(piece)
            else:
                found.append(piece)
        return found if self._stemmer is None else self._stemmer.stemWords(found)

    def encode(
        self, texts: Sequence[str], *, max_tokens: int | None = None, threads: int | None = None
    ) -> tuple[U32, U64]:
        """Return the token numbers of all texts, and the offsets of each text; runs on the caller's thread."""
        rows: list[list[int]] = []
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise invalid("texts", "strings", f"a {type(text).__name__} in row {row}")
            rows.append([self.number(token) for token in self.tokens(text)[:max_tokens]])
        offsets = np.zeros(len(rows) + 1, np.uint64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return np.fromiter(chain.from_iterable(rows), np.uint32, int(offsets[-1])), offsets

    def number(self, term: str) -> int:
        """Return the number of a term."""
        return zlib.crc32(term.encode()) % self.n_terms

    def name(self, term: int) -> str:
        """Return the number of a term as its name: the word cannot be recovered from the hash."""
        return f"#{term}"

    def names(self, text: str) -> dict[int, str]:
        """Return the words of a text by their term numbers."""
        return {self.number(token): token for token in self.tokens(text)}


def _load_stemmer(name: str) -> Any:
    if not isinstance(name, str):
        raise invalid("stemmer", "the name of a Snowball algorithm, or None", described(name))
    try:
        import Stemmer
    except ImportError as error:
        raise MissingExtra("Stemming needs an extra; install it with: pip install 'hi2[stem]'") from error
    try:
        return Stemmer.Stemmer(name)
    except (KeyError, AttributeError, ValueError):
        known = ", ".join(sorted(Stemmer.algorithms()))
        raise InvalidParameter(f"The 'stemmer' parameter must be one of {known}. Got {name!r} instead.") from None
