"""Documents are judged by grades, or by the answers they contain."""

from __future__ import annotations

import pytest

from hi2.evaluation.judgements import answer_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("U.S.", ["u", ".", "s", "."]),
        ("Beyonce\u0301", ["beyonce\u0301"]),
        ("Beyonc\u00e9", ["beyonce\u0301"]),
        ("a\u00a0b\u200bc", ["a", "b", "c"]),
        ("x² 日本語", ["x²", "日本語"]),
        ("", []),
    ],
)
def test_answers_are_compared_as_in_dpr(text, tokens):
    assert answer_tokens(text) == tokens
