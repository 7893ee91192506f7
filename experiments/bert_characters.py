"""Write the table of what BERT's uncased normaliser and pre-tokenizer do to every character.

    python experiments/bert_characters.py src/hi2/text/bert-characters.npy

The table is computed with the ``tokenizers`` library itself, so the native WordPiece agrees with it whatever Unicode
version either was compiled with. A row is (first, last, kind, out, out, out) and covers the characters first to last,
which are all of one kind. A character becomes the outs that are not 0. In a row of several characters with one out,
first becomes out, first + 1 becomes out + 1, and so on. Characters without a row are letters that do not change. Hangul
syllables are decomposed by arithmetic and have no rows.

Normalisation sorts neighbouring combining marks by their class. Most marks are then dropped. The row of a mark that is
kept has the mark and the place of its class as its outs. Dropped characters are of two kinds, because marks are
sorted across some of them but not across others.
"""

from __future__ import annotations

import sys

import numpy as np
from tokenizers import normalizers, pre_tokenizers

LETTER, SPACE, ALONE, DROPPED, MARK, COMPOSED, BARRIER = range(7)
HANGUL = range(0xAC00, 0xAC00 + 11172)
CHARACTERS = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and code not in HANGUL]
HIGH, LOW = "\u302e", "\U0001d165"  # kept marks of two classes

NORMALIZER, SPLITTER = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()


def normal(text: str) -> str:
    return NORMALIZER.normalize_str(text).replace(" ", "")  # the normaliser puts spaces around ideographs


def swapped(first: str, second: str) -> bool:
    """Whether normalisation swaps two characters."""
    return normal(first + second) != normal(first) + normal(second)


def kept_marks() -> dict[str, int]:
    """Return the marks that are kept, and the place of the class of each: 1 for those that are sorted to the front."""
    marks = [
        c for c in map(chr, CHARACTERS) if normal(c) == c and any(swapped(c, m) or swapped(m, c) for m in HIGH + LOW)
    ]
    before = {c: sum(swapped(other, c) for other in marks) for c in marks}
    classes = sorted(set(before.values()), reverse=True)
    return {c: 1 + classes.index(before[c]) for c in marks}


def describe(c: str, marks: dict[str, int]) -> tuple[int, list[int]]:
    """Return the kind of a character and what it becomes."""
    out = normal(c)
    if not out:
        if NORMALIZER.normalize_str(c):
            return SPACE, []
        return (DROPPED if swapped(HIGH + c, LOW) else BARRIER), []
    if c in marks:
        return MARK, [ord(c), marks[c]]
    if any(o in marks for o in out):
        return COMPOSED, [*map(ord, out)]
    n_words = len(SPLITTER.pre_tokenize_str(f"a{NORMALIZER.normalize_str(c)}a"))
    return {1: (LETTER, [*map(ord, out)]), 2: (SPACE, []), 3: (ALONE, [*map(ord, out)])}[n_words]


def main() -> None:
    marks = kept_marks()
    rows: list[list[int]] = []
    for code in CHARACTERS:
        kind, out = describe(chr(code), marks)
        if kind == LETTER and out == [code]:
            continue
        assert len(out) <= (1 if kind == ALONE else 3), f"U+{code:04X} becomes {out}"
        if rows and len(out) <= 1 and rows[-1][1:3] == [code - 1, kind] and rows[-1][4] == 0:
            first, _, _, becomes, _, _ = rows[-1]
            if (out or [0])[0] == (becomes + code - first if out else 0):
                rows[-1][1] = code
                continue
        rows.append([code, code, kind, *[*out, 0, 0, 0][:3]])
    np.save(sys.argv[1], np.array(rows, np.uint32))
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
