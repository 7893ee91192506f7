"""How is a long text filed? As passages of whole sentences, which know where they stand in their document.

>>> passages = chunks(["One sentence. Another one. A third."], tokens=6, overlap=0)
>>> passages.texts
['One sentence. Another one.', 'A third.']
>>> passages.payload[1]
{'document': 0, 'begin': 27, 'end': 35}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from hi2.arguments import integer
from hi2.data.given_array import entries
from hi2.errors import InvalidParameter, described, invalid
from hi2.types import Id

#: A token is a word, a character of a script without spaces, or a mark.
_TOKEN = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W぀-ヿ㐀-鿿가-힯]+|[^\w\s]")
#: Where a sentence ends: after its mark and quotes, before white space; after a mark of East Asia; at an empty line.
_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？]+[」』”’]*\s*|\n[^\S\n]*\n\s*")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True)
class Chunks:
    """Passages in order, each with a text, an id and a payload, ready for ``build`` and ``add``.

    The payload says which ``document`` a passage belongs to, and where it ``begin``s and ``end``s in its text. Search
    with ``group_by="document"`` to have each document once.
    """

    texts: list[str]
    ids: list[str]
    payload: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.texts)


def chunks(
    texts: str | Iterable[str], *, ids: Sequence[Id] | None = None, tokens: int = 200, overlap: int | None = None
) -> Chunks:
    """Return texts cut into passages of at most ``tokens`` tokens, by paragraphs and sentences.

    A sentence is cut only if it has more tokens itself. The last sentences of a passage, up to ``overlap`` tokens
    (a tenth of ``tokens`` by default), begin the next one too. ``ids`` are those of the documents, 0, 1, 2, … by
    default; the passages of document 7 are ``7#0``, ``7#1``, …
    """
    tokens = integer("tokens", tokens, low=1)
    overlap = tokens // 10 if overlap is None else integer("overlap", overlap, low=0)
    if overlap >= tokens:
        raise invalid("overlap", f"less than tokens ({tokens})", overlap)
    given = iter([texts]) if isinstance(texts, str) else entries(texts, name="texts", must="strings")
    names = count() if ids is None else entries(ids, name="ids", must="one id per text")
    found = Chunks([], [], [])
    for row, text in enumerate(given):
        if not isinstance(text, str):
            raise invalid("texts", "strings", f"{described(text)} in row {row}")
        id = next(names, None)
        if id is None:
            raise InvalidParameter(f"The 'ids' parameter must have one id per text. Got {row} ids for more texts.")
        for number, (begin, end) in enumerate(passages(text, tokens, overlap)):
            found.texts.append(text[begin:end])
            found.ids.append(f"{id}#{number}")
            found.payload.append({"document": id, "begin": begin, "end": end})
    return found


def passages(text: str, tokens: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield where each passage of a text begins and ends, without white space around it."""
    pieces = list(_pieces(text, tokens))
    first = 0
    while first < len(pieces):
        last, total = first, 0
        while last < len(pieces) and total + pieces[last].n_tokens <= tokens:
            total += pieces[last].n_tokens
            last += 1
        last = _at_paragraph(pieces, first, last, tokens)
        yield pieces[first].begin, pieces[last - 1].end
        if last == len(pieces):
            return
        back, shared = last, 0
        room = min(overlap, tokens - pieces[last].n_tokens)  # the next passage must go beyond this one
        while back - 1 > first and shared + pieces[back - 1].n_tokens <= room:
            back -= 1
            shared += pieces[back].n_tokens
        first = back


@dataclass(frozen=True)
class _Piece:
    """A sentence, or a part of one that is too long."""

    begin: int
    end: int
    n_tokens: int
    opens_paragraph: bool


def _at_paragraph(pieces: Sequence[_Piece], first: int, last: int, tokens: int) -> int:
    """Where a passage ends: before the last paragraph that it has not whole, if it is half full by then."""
    if last == len(pieces) or pieces[last].opens_paragraph:
        return last
    total = sum(piece.n_tokens for piece in pieces[first:last])
    for place in range(last - 1, first, -1):
        total -= pieces[place].n_tokens
        if 2 * total < tokens:
            return last
        if pieces[place].opens_paragraph:
            return place
    return last


def _pieces(text: str, tokens: int) -> Iterator[_Piece]:
    begin, opens = 0, True
    ends = [match.end() for match in _END.finditer(text)]
    for end in [*ends, len(text)]:
        words = [(own.start(), own.end()) for own in _TOKEN.finditer(text, begin, end)]
        for at in range(0, len(words), tokens):
            some = words[at : at + tokens]
            yield _Piece(some[0][0], some[-1][1], len(some), opens and at == 0)
            opens = False
        opens = opens or bool(_PARAGRAPH.search(text, begin, end))
        begin = end
