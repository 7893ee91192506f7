"""Write the table of what BERT's uncased normaliser and pre-tokenizer do to every character.

    python experiments/bert_characters.py src/hi2/text/bert-characters.npy

The table is computed with the ``tokenizers`` library itself, so the native WordPiece agrees with it whatever Unicode
version either was compiled with. A row is (first, last, kind, out, out, out) and covers the characters first to last,
which are all of one kind. A character becomes the outs that are not 0. In a row of several characters with one out,
first becomes out, first + 1 becomes out + 1, and so on. Characters without a row are letters that do not change. Hangul
syllables are decomposed by arithmetic and have no rows.
"""

from __future__ import annotations

import sys

import numpy as np
from tokenizers import normalizers, pre_tokenizers

LETTER, SPACE, ALONE, DROPPED, CONTEXTUAL = range(5)
HANGUL = range(0xAC00, 0xAC00 + 11172)
REORDERED_MARKS = ("\U0001d165", "\u302e")  # marks of two combining classes that are kept


NORMALIZER, SPLITTER = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()


def normal(text: str) -> str:
    return NORMALIZER.normalize_str(text).replace(" ", "")  # the normaliser puts spaces around ideographs


def is_contextual(c: str) -> bool:
    """Whether normalisation may swap the character with a mark next to it: then it has a combining class too."""
    return c in REORDERED_MARKS or any(
        normal(c + mark) != normal(c) + mark or normal(mark + c) != mark + normal(c) for mark in REORDERED_MARKS
    )


def describe(c: str) -> tuple[int, str]:
    """Return the kind of a character and what it becomes."""
    out = normal(c)
    if not out:
        return (SPACE if NORMALIZER.normalize_str(c) else DROPPED), ""
    if is_contextual(c):
        return CONTEXTUAL, ""
    n_words = len(SPLITTER.pre_tokenize_str(f"a{NORMALIZER.normalize_str(c)}a"))
    return {1: (LETTER, out), 2: (SPACE, ""), 3: (ALONE, out)}[n_words]


def main() -> None:
    rows: list[list[int]] = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or code in HANGUL:
            continue
        kind, out = describe(chr(code))
        if kind == LETTER and out == chr(code):
            continue
        assert len(out) <= (3 if kind == LETTER else 1), f"U+{code:04X} becomes {out!r}"
        outs = [*map(ord, out), 0, 0, 0][:3]
        if rows and len(out) <= 1 and rows[-1][1:3] == [code - 1, kind] and rows[-1][4] == 0:
            first, _, _, becomes, _, _ = rows[-1]
            if outs[0] == (becomes + code - first if out else 0):
                rows[-1][1] = code
                continue
        rows.append([code, code, kind, *outs])
    np.save(sys.argv[1], np.array(rows, np.uint32))
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
