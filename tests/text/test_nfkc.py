"""The normal form is Python's, also of texts that Python takes quadratic time for."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hi2.text.nfkc import nfkc

# Marks of several classes, two that become two marks, letters that become a letter and a mark, and other characters.
CHARACTERS = "\u0301\u0316\u0345\u0334\u0344\u0f73\u0f71\u1b44\u302e\U0001d165\U0001d15eaéǖ가ﬁ\u037a\u200d \0"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.lists(st.tuples(st.text(CHARACTERS, max_size=4), st.integers(1, 90))))
def test_the_form_is_that_of_python(parts):
    text = parts if isinstance(parts, str) else "".join(part * n for part, n in parts)
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


def test_no_character_that_becomes_marks_alone_is_missed():
    for code in range(0x110000):
        marks = unicodedata.normalize("NFKD", chr(code))
        if unicodedata.combining(marks[0]):
            assert all(map(unicodedata.combining, marks))
            assert code <= 0x1E94A


@pytest.mark.parametrize("unit", ["\u0301\u0316", "\u0f73\u0301", "\u0345\u0334\u0344"], ids=ascii)
def test_long_runs_of_marks_take_linear_time(unit):
    def seconds(n):
        begin = time.perf_counter()
        nfkc("a" + unit * n)
        return time.perf_counter() - begin

    assert seconds(40_000) < 40 * max(seconds(5_000), seconds(5_000))
