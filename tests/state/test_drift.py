"""What was added is counted, and compared with what the parts were fitted to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import filing
import hi2
from hi2.state.drift import Added
from hi2.text.bags import Bags

N_TERMS = 6


def bags_of(rows):
    """Bags of lists of terms; a document's length is its number of terms with repeats."""
    terms = [sorted(set(row)) for row in rows]
    offsets = np.cumsum([0, *map(len, terms)]).astype(np.uint64)
    flat = np.array([term for row in terms for term in row], np.uint32)
    return Bags(offsets, flat, np.ones(len(flat), np.uint32), np.array([len(row) for row in rows], np.uint32))


ROWS = st.lists(st.lists(st.integers(0, N_TERMS - 1), max_size=5), max_size=4)


@settings(max_examples=80, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=4))
def test_counts_of_several_additions_are_those_of_all_documents(batches):
    added = Added()
    for rows in batches:
        added = added.plus(len(rows), bags_of(rows), N_TERMS)
    every = [row for rows in batches for row in rows]
    assert added.n_docs == len(every)
    assert added.n_tokens == sum(map(len, every))
    assert added.df.tolist() == [sum(term in row for row in every) for term in range(N_TERMS)]


def test_documents_without_terms_are_counted_too():
    first = Added().plus(3, bags_of([[1], [1, 2], []]), N_TERMS)
    second = first.plus(2, None, N_TERMS)
    assert (second.n_docs, second.n_tokens) == (5, 3)
    np.testing.assert_array_equal(second.df, first.df)
    assert first.n_docs == 3  # the counts before stay as they were


@pytest.fixture(scope="module")
def model(corpus):
    return filing.model_of(corpus)


@pytest.fixture(scope="module")
def pieces(corpus):
    """A model with a vocabulary of terms that no document has."""
    return filing.model_of(corpus, terms=hi2.BM25(per_doc=5, tokenizer="wordpiece"))


def report(model, texts):
    bags = model.terms.spec.bags(model.terms.tokenizer, texts)
    return Added().plus(len(texts), bags, model.n_terms).report(model)


def test_the_same_documents_have_not_moved(corpus, model):
    found = report(model, corpus.texts)
    assert found["added"] == len(corpus.texts)
    assert found["df"] == pytest.approx(0)
    assert found["unseen_terms"] == 0
    assert found["average_length"] == pytest.approx(1)


def test_other_terms_and_lengths_have_moved(corpus, pieces):
    model = pieces
    unseen = [model.terms.tokenizer.name(int(term)) for term in np.flatnonzero(model.terms.df == 0)]
    words = [word for word in unseen if word.isalpha() and len(word) > 4][:5]
    found = report(model, [" ".join(words)] * 2)
    assert found["df"] == pytest.approx(1)
    assert found["unseen_terms"] == 5
    assert found["average_length"] == pytest.approx(5 / model.terms.average_length)
    assert 0 < report(model, [*corpus.texts, " ".join(words)])["df"] < 0.1


def test_words_that_were_added_have_moved(corpus):
    model = filing.model_of(corpus)
    found = report(model, ["hippopotamus giraffe", "hippopotamus"])
    assert (found["df"], found["unseen_terms"]) == (pytest.approx(1), 2)


def test_without_terms_only_documents_are_counted(corpus, model):
    plain = filing.model_of(corpus, terms=None, clusters=hi2.KMeans(2))
    assert Added(7).report(plain) == {"added": 7}
    assert Added().report(model) == {"added": 0}


def test_negative_counts_are_refused():
    for counts in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="were added"):
            Added(*counts)
