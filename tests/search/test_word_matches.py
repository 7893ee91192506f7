"""What the words of a query are worth in a document, and which lists hold it."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
from hi2.search.effort import resolve_effort
from hi2.search.word_matches import match_lists, read_text, score_words, unknown_words

TEXTS = ["river bank water", "bank of money", "mountain path", "river river"]


@pytest.fixture(scope="module")
def state():
    index = hi2.HybridIndex.build(np.eye(4, dtype=np.float32), TEXTS, terms=hi2.BM25(per_doc=1))
    return index._index.state


def test_word_scores_are_those_of_bm25(state):
    query = read_text(state, "the river bank", 32)
    found = score_words(state, state.snapshot.find([0])[0], query, 2.0)
    selector = state.model.terms
    lengths = [3, 3, 2, 2]
    norm = 0.82 * (1 - 0.68 + 0.68 * lengths[0] / np.mean(lengths))
    idf = np.log1p((4 - 2 + 0.5) / (2 + 0.5))
    assert selector.n_docs == 4
    expected = 1.82 * idf / (1 + norm)
    assert {own.word: own.score for own in found.words} == {
        "river": pytest.approx(2 * expected, rel=1e-5),
        "bank": pytest.approx(2 * expected, rel=1e-5),
    }
    assert found.lexical == pytest.approx(2 * expected, rel=1e-5)
    assert found.punctuation == 0


def test_words_that_no_document_has(state):
    place = state.snapshot.find([2])[0]
    assert unknown_words(state, place, read_text(state, "Elephants at the river", 0)) == ("Elephants", "at", "the")
    assert unknown_words(state, place, read_text(state, None, 0)) == ()


def test_words_are_sorted_by_what_lists_make_of_them(state):
    query = read_text(state, "river bank mountain elephant", 32)
    effort = resolve_effort(state.model, k=1)
    by_id = {
        id: match_lists(state, state.snapshot.find([id])[0], query, effort, set(query.opened.tolist()), by_words=False)
        for id in (0, 3)
    }
    assert by_id[3].query_terms == ("river", "bank", "mountain")
    assert [(match.term, match.rank, match.opened) for match in by_id[3].terms] == [("river", 0, True)]
    assert by_id[3].unmatched_terms == ("elephant",)
    assert "river" in by_id[0].unfiled_terms  # it is filed under another of its words
    unopened = match_lists(state, state.snapshot.find([3])[0], query, effort, set(), by_words=False)
    assert [match.opened for match in unopened.terms] == [False]
