"""Which passage of a text answers a query? The one whose words are worth most, with them marked."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hi2.state.model import Model
from hi2.text.tokenizer import Analyzer

#: A passage has about as many characters.
LENGTH = 240
#: What stands before and after a word that matched.
MARK = "**"
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?]\s+|\n\s*")


@dataclass(frozen=True)
class _Match:
    """A word of the text that the query has: where it is, and which of the query's terms it is."""

    begin: int
    end: int
    terms: frozenset[int]


def snippet(model: Model, query: str | None, text: str, *, length: int = LENGTH) -> str:
    """Return the passage of ``text`` that says most about ``query``, its words marked; the beginning if none matches.

    Cut ends are shown as an ellipsis, and white space as single spaces.
    """
    matches = [] if query is None or model.terms is None else _matches(model.terms.tokenizer, query, text)
    values = _values(model, matches)
    begin, end = _passage(text, matches, values, length)
    parts, at = [], begin
    for match in matches:
        if begin <= match.begin and match.end <= end:
            parts += [text[at : match.begin], MARK, text[match.begin : match.end], MARK]
            at = match.end
    passage = " ".join("".join([*parts, text[at:end]]).split())
    return f"{'… ' if text[:begin].strip() else ''}{passage}{' …' if text[end:].strip() else ''}"


def _matches(tokenizer: Analyzer, query: str, text: str) -> list[_Match]:
    """The words of the text that are words of the query as the index reads them, in order."""
    wanted = {int(term) for term in tokenizer.encode([query], threads=1)[0] if not tokenizer.dropped[term]}
    runs = list(_WORD.finditer(text))
    words = list(dict.fromkeys(run.group() for run in runs))
    tokens, offsets = tokenizer.encode(words, threads=1)
    bounds = offsets.astype(int).tolist()
    spans = {
        word: _spans(tokenizer, word, tokens[bounds[i] : bounds[i + 1]].tolist(), wanted)
        for i, word in enumerate(words)
    }
    return [
        _Match(run.start() + begin, run.start() + end, terms)
        for run in runs
        for begin, end, terms in spans[run.group()]
    ]


def _spans(
    tokenizer: Analyzer, word: str, terms: Sequence[int], wanted: set[int]
) -> list[tuple[int, int, frozenset[int]]]:
    """The parts of a word that the query has: all of it, or pairs of characters where the script has no spaces."""
    if not terms or wanted.isdisjoint(terms):
        return []
    if wanted.issuperset(terms):
        return [(0, len(word), frozenset(terms))]
    found: list[tuple[int, int, frozenset[int]]] = []
    for term in dict.fromkeys(terms):
        name, at = tokenizer.name(term), 0
        if term not in wanted or name.isascii():  # a piece of a word is no reason
            continue
        while (at := word.find(name, at)) >= 0:
            if found and at < found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], at + len(name)), found[-1][2] | {term}
            else:
                found.append((at, at + len(name), frozenset([term])))
            at += 1
    return sorted(found)


def _values(model: Model, matches: Sequence[_Match]) -> dict[int, float]:
    """What each matched term is worth: more if fewer documents have it."""
    if model.terms is None:
        return {}
    df = model.terms.df
    total = 1 + int(df.max(initial=0))
    terms = set().union(*(match.terms for match in matches)) if matches else set()
    return {term: math.log1p(total / (0.5 + (int(df[term]) if term < len(df) else 0))) for term in terms}


def _passage(text: str, matches: Sequence[_Match], values: dict[int, float], length: int) -> tuple[int, int]:
    """Where the best passage begins and ends: the first of those whose distinct terms are worth most."""
    if len(text) <= length:
        return 0, len(text)
    best, first, last = -1.0, 0, 0
    counts: dict[int, int] = {}
    worth, begin = 0.0, 0
    for match in matches:
        for term in match.terms:
            counts[term] = counts.get(term, 0) + 1
            worth += values[term] if counts[term] == 1 else 0.0
        while matches[begin] is not match and (
            match.end - matches[begin].begin > length or all(counts[term] > 1 for term in matches[begin].terms)
        ):
            for term in matches[begin].terms:
                counts[term] -= 1
                worth -= values[term] if counts[term] == 0 else 0.0
            begin += 1
        if worth > best + 1e-9:
            best, first, last = worth, matches[begin].begin, match.end
    # What is left of the length goes before the first match, back to the beginning of its sentence, and after the last.
    room = max(length - (last - first), 0)
    earliest = max(first - room, 0)
    starts = [0] if earliest == 0 else []
    starts += [end.end() for end in _SENTENCE_END.finditer(text, earliest, first)]
    start = next((own for own in starts if first - own <= room), max(first - room // 3, 0))
    end = min(max(last, start + length), len(text))
    while 0 < start < len(text) and not text[start - 1].isspace() and start < first:
        start += 1
    while end < len(text) and not text[end].isspace() and end > last:
        end -= 1
    return start, end
