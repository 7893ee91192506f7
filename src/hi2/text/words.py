"""Words of any language as terms: an exact dictionary that grows with the documents, optional stemming."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence

import numpy as np

from hi2 import _native
from hi2.arguments import MAX_TERMS
from hi2.data.lazy import lazy
from hi2.text.dictionary import Dictionary
from hi2.text.stemmer import load_stemmer
from hi2.text.unicode_words import unicode_words
from hi2.text.valid_texts import check_texts
from hi2.types import I64, U32, U64, Array, Bytes

_NO_LIMIT = 2**63 - 1
_CHUNK = re.compile("[0-9A-Za-z_\x80-\U0010ffff]+")
_CAPITALS = re.compile("[A-Z]+")


class WordTokenizer:
    """Words as terms.

    ``stemmer`` names a Snowball algorithm ('english', 'german', …); without one, words are terms as they are.

    A text is split at every ASCII character that is not a letter, a digit or an underscore, and its ASCII letters are
    lowercased. A chunk of ASCII is one word. A chunk with other characters is brought into Unicode's form NFKC, its
    case is folded, and its runs of letters, digits and combining marks are words; runs of a script without spaces
    become overlapping pairs of characters. Words of more than 128 characters are left out. The others are stemmed, and
    empty stems are left out.

    The number of a term is its place in the dictionary: documents add their words in the order they first occur, up to
    2^24 words; later ones are not terms. Queries add none, and words that no document had are left out.

    >>> WordTokenizer().tokens("Über 3 Flüsse: 東京都")
    ['über', '3', 'flüsse', '東京', '京都']
    """

    KIND = "hi2 dictionary of words"

    def __init__(self, stemmer: str | None = None) -> None:
        self._stemmer = None if stemmer is None else load_stemmer(stemmer)
        self.stemmer = stemmer
        #: What an index stores, next to the dictionary, so that it can restore the tokenizer.
        self.definition = json.dumps({"kind": self.KIND, "stemmer": stemmer})
        #: A hash of the definition: tokenizers with the same fingerprint split texts into the same words.
        self.fingerprint = hashlib.sha256(self.definition.encode()).hexdigest()
        #: The words that are terms.
        self.dictionary = Dictionary()
        self._dropped: Bytes = np.zeros(0, np.uint8)

    @classmethod
    def restore(cls, definition: str, dictionary: Dictionary) -> WordTokenizer:
        """Return the tokenizer with a stored definition and dictionary."""
        tokenizer = cls(json.loads(definition)["stemmer"])
        tokenizer.dictionary = dictionary
        return tokenizer

    def copy(self) -> WordTokenizer:
        """Return a tokenizer with the same words that learns on its own."""
        copy = WordTokenizer.restore(self.definition, self.dictionary.copy())
        if "_table" in vars(self):
            vars(copy)["_table"] = self._table.copy()
        return copy

    def forget(self, n_terms: int) -> None:
        """Remove the last words, down to ``n_terms``. ``native`` is another object then: the old one still has them."""
        self.dictionary.forget(n_terms)
        vars(self).pop("_table", None)

    @lazy
    def _table(self) -> _native.WordTable:
        """The chunks whose words are known; made when a text is read, which a spec's tokenizer never does."""
        return _native.WordTable(int.from_bytes(os.urandom(8), "little"))

    @property
    def native(self) -> _native.WordTable:
        """The chunks whose words are known."""
        return self._table

    @property
    def n_terms(self) -> int:
        """How many words are terms: term numbers are below this."""
        return len(self.dictionary)

    @property
    def dropped(self) -> Bytes:
        """1 where a token is not a term; here all are."""
        dropped = self._dropped
        if len(dropped) != self.n_terms:
            dropped = self._dropped = np.zeros(self.n_terms, np.uint8)
        return dropped

    def arrays(self, n_terms: int) -> dict[str, Array]:
        """Return what an index stores next to the definition: the first ``n_terms`` words of the dictionary."""
        return self.dictionary.arrays(n_terms)

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text, stemmed, in order, repeats included, whether or not they are terms."""
        check_texts([text])
        lowered = _CAPITALS.sub(lambda capitals: capitals[0].lower(), text)
        return self._words(_CHUNK.findall(lowered))[0]

    def encode(
        self, texts: Sequence[str], *, max_tokens: int | None = None, threads: int | None = None, learn: bool = False
    ) -> tuple[U32, U64]:
        """Return the token numbers of all texts, and the offsets of each text; runs on the caller's thread.

        ``max_tokens`` is how many words of a text are read. ``learn`` adds those that are new to the dictionary, else
        they are left out. Chunks whose words are known are found in a native table.
        """
        batch = texts if isinstance(texts, list) else list(texts)
        limit = _NO_LIMIT if max_tokens is None else max_tokens
        table = self._table  # the same throughout: numbers that are forgotten meanwhile must not get into the next
        try:
            tokens, offsets, chunks = table.encode(batch, limit)
        except (TypeError, UnicodeEncodeError):
            check_texts(batch)
            raise
        if not chunks:
            return tokens, offsets
        words, bounds = self._words(chunks)
        if not learn:
            numbers = self.dictionary.find(words)
        elif max_tokens is None:
            numbers = self.dictionary.add(words)
        else:
            self._learn_first(tokens, offsets, words, bounds, limit)
            numbers = self.dictionary.find(words)
        table.put(chunks, bounds, numbers)
        return table.fill(tokens, offsets, bounds, numbers, limit)

    def number(self, term: str) -> int | None:
        """Return the number of a term, or None if it is not in the dictionary."""
        number = int(self.dictionary.find([term])[0])
        return None if number < 0 else number

    def name(self, term: int) -> str:
        """Return the word of a term."""
        return self.dictionary.name(term) if 0 <= term < self.n_terms else f"<{term}>"

    def names(self, text: str) -> dict[int, str]:
        """Return the words of a text that are terms, by their numbers."""
        return {int(number): self.name(int(number)) for number in self.encode([text])[0]}

    def _words(self, chunks: list[str]) -> tuple[list[str], U64]:
        """Return the words of lowercased chunks; those of chunk i are [bounds[i], bounds[i+1])."""
        if "".join(chunks).isascii() and not any(len(chunk) > _native.LONGEST_WORD for chunk in chunks):
            words, bounds = chunks, np.arange(len(chunks) + 1, dtype=np.uint64)
        else:
            words, ends = [], [0]
            for chunk in chunks:
                found = [chunk] if chunk.isascii() else unicode_words(chunk)
                words.extend(word for word in found if len(word) <= _native.LONGEST_WORD)
                ends.append(len(words))
            bounds = np.array(ends, np.uint64)
        if self._stemmer is None:
            return words, bounds
        stems: list[str] = self._stemmer.stemWords(words)
        if "" in stems:
            filled = np.zeros(len(stems) + 1, np.uint64)
            np.cumsum([stem != "" for stem in stems], out=filled[1:])
            return [stem for stem in stems if stem], filled[bounds.astype(np.int64)]
        return stems, bounds

    def _learn_first(self, tokens: U32, offsets: U64, words: list[str], bounds: U64, limit: int) -> None:
        """Add those of ``words`` that are among the first ``limit`` of a text, in the order they occur."""
        places: I64 = np.arange(MAX_TERMS, MAX_TERMS + len(words))  # in place of numbers, which are lower
        read, _ = self._table.fill(tokens, offsets, bounds, places, limit)
        self.dictionary.add([words[place] for place in dict.fromkeys((read[read >= MAX_TERMS] - MAX_TERMS).tolist())])
