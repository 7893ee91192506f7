"""A snippet is the passage of a text that says most about a query, its words marked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.search.snippet import snippet

TEXT = (
    "The museum opens at nine. It has a large collection of stones from the whole country and from abroad, and a café. "
    "Visitors may bring their own lunch, but not their dogs, and there is a garden with tables behind the house. "
    "The telescope of Isaac Newton stands in the third room. It was made in 1668, and nobody has looked through it "
    "for many years, because the mirrors are blind. A copy can be tried in the garden on clear nights in winter."
)


@pytest.fixture(scope="module")
def model():
    texts = [TEXT, "a garden in winter", "a garden in spring", "the garden", "東京都の庭", "Übung macht den Meister"]
    return hi2.HybridIndex.build(np.eye(6, 8), texts).model


def test_the_passage_with_the_rarest_words_is_shown_from_the_beginning_of_its_sentence(model):
    shown = snippet(model, "newton's telescopes and mirrors", TEXT)
    assert shown.startswith("… The **telescope** of Isaac **Newton** stands in the third room. It was made")
    assert "**mirrors**" in shown
    assert len(shown.replace("**", "")) < 260


def test_a_text_without_a_word_of_the_query_is_shown_from_its_beginning(model):
    for query in ("zebras", "", None):
        shown = snippet(model, query, TEXT)
        assert shown.startswith("The museum opens at nine.")
        assert shown.endswith("…")
        assert "*" not in shown
    assert snippet(model, "zebras", "a short\n text") == "a short text"
    assert snippet(model, "anything", "") == ""


def test_words_are_marked_as_the_index_reads_them(model):
    assert snippet(model, "GARDENS", "A Garden, gardening, gardener.") == "A **Garden**, **gardening**, **gardener**."
    assert snippet(model, "übung", "Übung macht") == "**Übung** macht"
    assert snippet(model, "東京", "東京都の庭") == "**東京**都の庭"


def test_pieces_of_words_are_not_marked():
    model = hi2.HybridIndex.build(np.eye(2, 4), ["indexes", "boxes"], terms=hi2.BM25(tokenizer="wordpiece")).model
    assert snippet(model, "indexes", "boxes and indexes") == "boxes and **indexes**"


def test_an_index_without_terms_shows_the_beginning():
    model = hi2.HybridIndex.build(np.eye(3), terms=None).model
    assert snippet(model, "garden", TEXT).startswith("The museum")


@given(st.text(max_size=60), st.text(max_size=900), st.integers(1, 300))
def test_a_snippet_is_part_of_its_text(model, query, text, length):
    shown = snippet(model, query, text, length=length)
    plain = "".join(text.replace("*", "").split())
    assert "".join(shown.removeprefix("… ").removesuffix(" …").replace("*", "").split()).strip("…") in plain
