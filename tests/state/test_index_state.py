"""A state has a native reader of its own, and a change makes another state."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import filing
import hi2
from hi2 import _native
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.snapshot import EMPTY
from hi2.text.hashed_words import HashedWordTokenizer

LARGEST = 1e16


def state_of(corpus, model, n=60):
    texts = corpus.texts[:n] if model.terms is not None else None
    segment = filing.file(model, corpus.vectors[:n], texts, ids=corpus.ids[:n])
    return State(model, EMPTY.plus(segment), Added(), 0, keep_text=False)


WORDPIECE = hi2.BM25(per_doc=5, tokenizer="wordpiece")


def effort(**changes):
    return _native.Effort(**{"k": 5, "clusters": 1, "terms": 32, "per_doc": 5, "depth": 0, **changes})


def test_readers_answer_a_vector_with_or_without_text(corpus):
    state = state_of(corpus, filing.model_of(corpus))
    query, text = corpus.vectors[3], corpus.texts[3]
    by_text, _, n_text, n_lists = state.reader.search(query, text, effort(), LARGEST)
    alone, _, n_vector, _ = state.vector_reader.search(query, None, effort(), LARGEST)
    assert by_text[0] == alone[0] == corpus.ids[3]
    assert n_text > n_vector
    assert n_lists > 0
    assert state.reader is state.reader
    assert state.reader is not state.vector_reader


@pytest.mark.parametrize("around", ["[SEP] {}", "{}[MASK]", "[[CLS]]{}\u302e \U0001d165\u302e [sep]"])
def test_a_reader_answers_texts_with_special_words_and_marks(corpus, around):
    state = state_of(corpus, filing.model_of(corpus, terms=WORDPIECE))
    found = state.reader.search(corpus.vectors[3], around.format(corpus.texts[3]), effort(terms=1000), LARGEST)
    alone = state.reader.search(corpus.vectors[3], corpus.texts[3], effort(terms=1000), LARGEST)
    assert found is not None
    assert found[0] == alone[0]
    assert found[3] >= alone[3] > 0


def test_a_reader_answers_texts_whose_words_were_read_before(corpus):
    """Words are looked up natively; one that was never read is left to the tokenizer."""
    state = state_of(corpus, filing.model_of(corpus))
    assert state.reader.search(corpus.vectors[3], corpus.texts[3], effort(), LARGEST)[0][0] == corpus.ids[3]
    text, unknown = f"tuplings {corpus.texts[3]}", f"hippopotamus {corpus.texts[3]}"
    for _ in range(2):
        assert state.reader.search(corpus.vectors[3], unknown, effort(), LARGEST) is None
        state.model.terms.tokenizer.encode([unknown])  # the word may be that of a document later
    assert state.reader.search(corpus.vectors[3], text, effort(), LARGEST) is None
    state.model.terms.tokenizer.encode([text])  # its stem is a word of the documents
    found = state.reader.search(corpus.vectors[3], text, effort(), LARGEST)
    assert found[0] == state.reader.search(corpus.vectors[3], corpus.texts[3], effort(), LARGEST)[0]


HASHED = hi2.BM25(per_doc=5, tokenizer=HashedWordTokenizer(n_terms=1000))


@pytest.mark.parametrize("terms", [None, HASHED], ids=["none", "hashed words"])
def test_without_a_native_tokenizer_the_reader_takes_vectors_alone(corpus, terms):
    state = state_of(corpus, filing.model_of(corpus, terms=terms))
    assert state.reader is state.vector_reader


def test_the_tokenizer_is_parsed_by_the_first_query_with_text(corpus):
    model = filing.model_of(corpus, terms=WORDPIECE)
    state = state_of(corpus, Model.from_arrays(*model.to_arrays()), n=10)
    fresh = replace(state, model=Model.from_arrays(*model.to_arrays()))
    assert fresh.vector_reader.search(corpus.vectors[0], None, effort(), LARGEST) is not None
    assert "_parsed" not in vars(fresh.model.terms.tokenizer)
    assert fresh.reader.search(corpus.vectors[0], corpus.texts[0], effort(), LARGEST) is not None
    assert "_parsed" in vars(fresh.model.terms.tokenizer)


def test_a_changed_state_has_a_reader_of_its_own(corpus):
    state = state_of(corpus, filing.model_of(corpus, terms=None))
    before = state.reader.search(corpus.vectors[3], None, effort(), LARGEST)
    changed = replace(state, snapshot=state.snapshot.without(state.snapshot.find([corpus.ids[3]])))
    assert corpus.ids[3] not in changed.reader.search(corpus.vectors[3], None, effort(clusters=99), LARGEST)[0]
    after = state.reader.search(corpus.vectors[3], None, effort(), LARGEST)
    assert after[0] == before[0]
    np.testing.assert_array_equal(after[1], before[1])
    with pytest.raises(FrozenInstanceError):
        state.next_id = 7
