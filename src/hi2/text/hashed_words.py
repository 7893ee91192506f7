"""Words whose terms are hashes of them: the tokenizer of older indexes, which can still be opened and added to."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from itertools import chain

import numpy as np

from hi2.arguments import integer
from hi2.errors import invalid
from hi2.text.stemmer import load_stemmer
from hi2.text.unicode_words import unicode_words
from hi2.types import U32, U64, Array, Bytes


class HashedWordTokenizer:
    """Words as terms, without a dictionary: two words may share a term.

    >>> HashedWordTokenizer().tokens("Über 3 Flüsse: 東京都")
    ['über', '3', 'flüsse', '東京', '京都']
    """

    KIND = "hi2 words"
    native: None = None  # no native tokenizer

    def __init__(self, stemmer: str | None = None, *, n_terms: int = 1 << 18) -> None:
        self.n_terms = integer("n_terms", n_terms, low=1 << 8, high=1 << 22)
        self._stemmer = None if stemmer is None else load_stemmer(stemmer)
        #: What an index stores, so that it can restore the tokenizer.
        self.definition = json.dumps({"kind": self.KIND, "stemmer": stemmer, "n_terms": self.n_terms})
        #: A hash of the definition: tokenizers with the same fingerprint give the same tokens.
        self.fingerprint = hashlib.sha256(self.definition.encode()).hexdigest()
        #: 1 where a token is not a term; here all are.
        self.dropped: Bytes = np.zeros(self.n_terms, np.uint8)

    @classmethod
    def restore(cls, definition: str, n_terms: int | None = None) -> HashedWordTokenizer:
        """Return the tokenizer with a stored definition, which must have ``n_terms`` terms."""
        data = json.loads(definition)
        if n_terms not in (None, data["n_terms"]):
            raise invalid("tokenizer", f"one of {n_terms} terms", f"one of {data['n_terms']}")
        return cls(data["stemmer"], n_terms=data["n_terms"])

    def arrays(self, n_terms: int) -> dict[str, Array]:
        """Return what an index stores next to the definition: nothing."""
        return {}

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text as strings, in order, repeats included."""
        found = unicode_words(text)
        return found if self._stemmer is None else self._stemmer.stemWords(found)

    def encode(
        self, texts: Sequence[str], *, max_tokens: int | None = None, threads: int | None = None, learn: bool = False
    ) -> tuple[U32, U64]:
        """Return the token numbers of all texts, and the offsets of each text; runs on the caller's thread.

        Every word has a number, so there is nothing to ``learn``.
        """
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
