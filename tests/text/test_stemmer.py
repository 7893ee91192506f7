"""Forms of a word have one stem."""

from __future__ import annotations

import pytest

import hi2
from hi2.text.stemmer import load_stemmer, stemmer_names


def test_forms_of_a_word_have_one_stem():
    assert load_stemmer("english").stemWords(["running", "runs", "run"]) == ["run"] * 3
    assert load_stemmer("german").stemWords(["häuser", "haus"]) == ["haus"] * 2
    assert {"english", "german", "french"} <= stemmer_names()


@pytest.mark.parametrize("name", ["klingon", "", "English!", "\0", "words"])
def test_an_unknown_algorithm_is_refused_with_the_known_ones(name):
    with pytest.raises(hi2.InvalidParameter, match=r"'stemmer'.*english"):
        load_stemmer(name)


def test_the_name_must_be_a_string():
    with pytest.raises(hi2.InvalidParameter, match=r"'stemmer'.*Got 3"):
        load_stemmer(3)
