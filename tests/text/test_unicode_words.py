"""Words of any language: case is folded, marks belong to words, unspaced scripts become pairs."""

from __future__ import annotations

import pytest

from hi2.text.unicode_words import unicode_words


def test_case_is_folded_and_punctuation_is_in_no_word():
    words = unicode_words("ＦＵＬＬ width, naïve Straße—don\u2019t! Привет мир")
    assert words == ["full", "width", "naïve", "strasse", "don", "t", "привет", "мир"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都", ["東京", "京都"]),
        ("木", ["木"]),
        ("ひらがなx", ["ひら", "らが", "がな", "x"]),
        ("한국어", ["한국", "국어"]),
        ("สวัส", ["สว", "วั", "ัส"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("—\u3000", []),
    ],
)
def test_scripts_without_spaces_become_pairs_of_characters(text, expected):
    assert unicode_words(text) == expected
