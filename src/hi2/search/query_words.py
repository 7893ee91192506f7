"""Which words does a query have, as they are written? Terms may be stems or pieces of them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import groupby

from hi2.text.tokenizer import Analyzer

#: What marks the names of pieces: WordPiece, byte-level BPE and SentencePiece.
_MARKS = ("##", "Ġ", "▁")


@dataclass(frozen=True)
class QueryWord:
    """A word of a query and its terms: several where the tokenizer splits words, none where the index has no such term.

    A term that several words have belongs to the first.
    """

    word: str
    terms: tuple[int, ...]


def query_words(text: str, tokenizer: Analyzer) -> list[QueryWord]:
    """Return the distinct words of a text in order. Punctuation is none, though it may have terms."""
    names = {term: name for term, name in tokenizer.names(text).items() if not tokenizer.dropped[term]}
    left = dict(names)
    found: list[QueryWord] = []
    for run in dict.fromkeys(_runs(text)):
        own = _terms_of(run, tokenizer)
        if not set(own) <= set(names):  # a tokenizer that reads a word alone in another way than after a space
            own = _terms_of(f" {run}", tokenizer)
        if not own:
            found.append(QueryWord(run, ()))
        elif not set(own) <= set(names):
            continue
        elif len(parts := tokenizer.tokens(run)) == 1 or sum(len(_bare(part)) for part in parts) <= len(run):
            found += [QueryWord(run, rest)] if (rest := tuple(term for term in own if left.pop(term, None))) else []
        else:  # overlapping pairs of characters
            found += [QueryWord(names[term], (term,)) for term in own if left.pop(term, None)]
    return found + [QueryWord(_bare(name), (term,)) for term, name in left.items() if any(map(_in_word, _bare(name)))]


def _terms_of(text: str, tokenizer: Analyzer) -> list[int]:
    tokens, _ = tokenizer.encode([text], threads=1)
    return [term for term in dict.fromkeys(tokens.tolist()) if not tokenizer.dropped[term]]


def _runs(text: str) -> list[str]:
    """The runs of letters, digits and underscores."""
    return ["".join(run) for inside, run in groupby(text, _in_word) if inside]


def _in_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LMN"


def _bare(name: str) -> str:
    for mark in _MARKS:
        name = name.removeprefix(mark)
    return name
