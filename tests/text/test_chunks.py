"""A long text is cut into passages of whole sentences, and nothing of it is lost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hi2
from hi2.text.chunks import _TOKEN, passages

STORY = (
    "Anna has a boat. It is red! Is it fast? Yes.\n\n"
    "Her brother Bo has a horse, which is called Max. He rides it every day to the market and back again.\n\n"
    "They meet at noon."
)


def test_passages_end_with_sentences_and_paragraphs():
    found = hi2.chunks(STORY, tokens=27, overlap=0)
    assert found.texts == [
        "Anna has a boat. It is red! Is it fast? Yes.",
        "Her brother Bo has a horse, which is called Max. He rides it every day to the market and back again.",
        "They meet at noon.",
    ]
    assert found.ids == ["0#0", "0#1", "0#2"]
    assert [STORY[own["begin"] : own["end"]] for own in found.payload] == found.texts


def test_the_last_sentences_of_a_passage_begin_the_next():
    found = hi2.chunks(STORY, tokens=12, overlap=6)
    assert found.texts[:2] == ["Anna has a boat. It is red!", "It is red! Is it fast? Yes."]


def test_a_sentence_that_is_too_long_is_cut_between_words():
    found = hi2.chunks("one two three four five", tokens=2, overlap=1)
    assert found.texts == ["one two", "three four", "five"]
    assert hi2.chunks("東京都庁。大阪城", tokens=5, overlap=0).texts == ["東京都庁。", "大阪城"]


def test_ids_are_those_of_the_documents():
    found = hi2.chunks(["a b", "c"], ids=["x", "y"], tokens=1, overlap=0)
    assert found.ids == ["x#0", "x#1", "y#0"]
    assert [own["document"] for own in found.payload] == ["x", "x", "y"]
    assert len(hi2.chunks(["", "  \n "])) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"texts": [3]}, "'texts'.*row 0"),
        ({"texts": ["a"], "tokens": 0}, "'tokens'"),
        ({"texts": ["a"], "tokens": 5, "overlap": 5}, "'overlap'.*less than tokens"),
        ({"texts": ["a", "b"], "ids": ["x"]}, "'ids'"),
        ({"texts": 3}, "'texts'"),
    ],
)
def test_bad_input_is_refused(given, said):
    with pytest.raises(hi2.InvalidParameter, match=said):
        hi2.chunks(**given)


TEXTS = st.lists(
    st.sampled_from(["word ", "Two. ", "\n\n", "\n", "東", "end! ", "a-b ", "(x) ", "。"]), max_size=60
).map("".join)


@given(TEXTS, st.integers(1, 20), st.integers(0, 19))
def test_passages_cover_every_token_within_the_limit(text, tokens, overlap):
    overlap = min(overlap, tokens - 1)
    found = list(passages(text, tokens, overlap))
    covered = np.zeros(len(text), bool)
    for begin, end in found:
        assert len(_TOKEN.findall(text[begin:end])) <= tokens
        covered[begin:end] = True
    for token in _TOKEN.finditer(text):
        assert covered[token.start() : token.end()].all()
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(found))


def test_long_documents_are_found_by_their_passages_and_grouped_back():
    texts = [STORY, "A text of ships. " * 50 + "The captain wears a green hat.", "Nothing of this kind."]
    found = hi2.chunks(texts, ids=["boat", "ship", "none"], tokens=20, overlap=0)
    index = hi2.HybridIndex.build(
        texts=found.texts, ids=found.ids, payload=found.payload, encoder=hi2.StaticEncoder(), progress=False
    )
    best = index.search("green hat of the captain", k=1)[0]
    assert best.payload["document"] == "ship"
    assert "green hat" in texts[1][best.payload["begin"] : best.payload["end"]]
    grouped = index.search("captain of a ship", k=3, group_by="document")
    assert sorted(grouped.groups.tolist()) == ["boat", "none", "ship"]
