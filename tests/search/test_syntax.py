"""A sign counts where a word begins, and is plain text everywhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hi2.search.syntax import SignedText, signed_text


@pytest.mark.parametrize(
    ("text", "required", "excluded"),
    [
        ("+one", ("one",), ()),
        ("-one", (), ("one",)),
        ("a +one -two +three b", ("one", "three"), ("two",)),
        ("+one\t-two\n+three", ("one", "three"), ("two",)),
        ("+state-of-the-art", ("state-of-the-art",), ()),
        ("-été +東京", ("東京",), ("été",)),
        ("+one +one", ("one", "one"), ()),
        ("+C++", ("C++",), ()),
    ],
)
def test_words_with_signs_are_required_or_excluded(text, required, excluded):
    found = signed_text(text)
    assert (found.required, found.excluded) == (required, excluded)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text",
        "C++",
        "stem-cell",
        "a - b + c",
        "-40 degrees",
        "+49 30",
        "--option",
        "-+x",
        "+_private",
        '"+" and "-word"',
        "(+word)",
        "-",
        "+",
        "x-+y",
    ],
)
def test_other_signs_are_plain_text(text):
    assert signed_text(text) == SignedText(text)


def test_required_words_stay_in_the_text_and_excluded_ones_do_not():
    found = signed_text("+stem cells -mouse in +human tissue")
    assert found.plain.split() == ["stem", "cells", "in", "human", "tissue"]


WORDS = st.text(st.characters(categories=["Lu", "Ll", "Nd", "Pd", "Po"]), min_size=1, max_size=6)


@given(st.lists(st.tuples(st.sampled_from(["", "+", "-"]), WORDS), max_size=8))
def test_every_word_is_kept_required_or_excluded(pairs):
    """The judge reads word by word."""
    text = " ".join(sign + word for sign, word in pairs)
    plain, signed = [], {"+": [], "-": []}
    for word in text.split():
        if word[0] in "+-" and word[1:2].isalpha():
            signed[word[0]].append(word[1:])
            if word[0] == "-":
                continue
            word = word[1:]  # noqa: PLW2901 - as it stays in the text
        plain.append(word)
    found = signed_text(text)
    assert found.plain.split() == plain
    assert (list(found.required), list(found.excluded)) == (signed["+"], signed["-"])
