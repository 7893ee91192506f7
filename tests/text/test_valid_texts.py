"""Texts that cannot be tokenized are named by their row."""

from __future__ import annotations

import pytest

import hi2
from hi2.text.valid_texts import check_texts


def test_the_first_text_that_is_no_valid_string_is_named():
    check_texts(["one", "zwei ü \U0001f600", "", "\0"])
    with pytest.raises(hi2.InvalidParameter, match=r"'texts' parameter must be strings. Got a int in row 1"):
        check_texts(["one", 2, "\ud800"])
    with pytest.raises(hi2.InvalidParameter, match=r"valid Unicode. Got surrogates not allowed in row 2"):
        check_texts(["one", "two", "\ud800"])
