"""New documents are read once and checked against each other."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import filing
import hi2
from hi2.ingest import documents as documents_module
from hi2.ingest.documents import collect_terms, term_reader
from hi2.selectors.terms import LearnedTerms
from hi2.text.hashed_words import HashedWordTokenizer


def test_running_out_of_integer_ids_is_an_error(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:2], corpus.texts[:2], ids=[5, 2**63 - 1])
    with pytest.raises(hi2.InvalidParameter, match=r"'ids'.*used up"):
        index.add(corpus.vectors[:1], corpus.texts[:1])


def test_tokenizing_once_gives_the_same_index(corpus):
    static = hi2.StaticEncoder()
    once = hi2.HybridIndex.build(texts=corpus.texts, encoder=static)
    apart = hi2.HybridIndex.build(static(corpus.texts), corpus.texts)
    for name, array in once._index.state.snapshot.segments[0].segment.arrays.items():
        np.testing.assert_array_equal(array, apart._index.state.snapshot.segments[0].segment.arrays[name])


def rows_of(documents):
    return [json.loads(line) for line in documents.stored.rows()]


def test_texts_and_payload_are_read_once_in_batches(corpus, monkeypatch):
    monkeypatch.setattr(documents_module, "_TEXTS_PER_BATCH", 7)
    n, read_by = 20, []

    def once(name, values):
        for value in values:
            read_by.append(name)
            yield value

    texts, payload = corpus.texts[:n], [{"n": i} for i in range(n)]
    made = filing.read(
        corpus.vectors[:n],
        once("texts", texts),
        terms=hi2.BM25(),
        payload=once("payload", payload),
        keep_text=True,
    )
    assert (read_by.count("texts"), read_by.count("payload")) == (n, n)
    assert rows_of(made) == [{"text": text, "payload": own} for text, own in zip(texts, payload, strict=True)]
    whole = term_reader(hi2.BM25())
    expected = whole.spec.bags(whole.tokenizer, texts)
    for name in ("offsets", "terms", "values", "lengths"):
        np.testing.assert_array_equal(getattr(made.bags, name), getattr(expected, name))


def test_ids_follow_the_first_unless_they_are_given(corpus):
    assert filing.read(corpus.vectors[:3]).ids.as_list() == [0, 1, 2]
    assert filing.read(corpus.vectors[:3], first_id=7).ids.as_list() == [7, 8, 9]
    assert filing.read(corpus.vectors[:2], ids=("b", "a")).ids.as_list() == ["b", "a"]
    assert filing.read(corpus.vectors[:1], first_id=2**63 - 1).ids.as_list() == [2**63 - 1]


def test_only_what_is_to_be_kept_is_stored(corpus):
    given = corpus.vectors[:2], corpus.texts[:2]
    assert filing.read(*given).stored is None
    assert rows_of(filing.read(*given, payload=[{"a": 1}, {}])) == [{"payload": {"a": 1}}, {"payload": {}}]
    assert rows_of(filing.read(*given, keep_text=True)) == [{"text": text} for text in given[1]]
    assert rows_of(filing.read(given[0], payload=[{}, {"b": [1, {"c": None}]}]))[1] == {
        "payload": {"b": [1, {"c": None}]}
    }


def test_a_missing_text_is_an_empty_one(corpus):
    made = filing.read(corpus.vectors[:2], [None, "some words"], terms=hi2.BM25(), keep_text=True)
    assert made.bags.lengths.tolist() == [0, 2]
    assert rows_of(made) == [{}, {"text": "some words"}]


def test_an_encoder_makes_vectors_batch_by_batch(corpus, monkeypatch):
    monkeypatch.setattr(documents_module, "_TEXTS_PER_BATCH", 4)
    batches = []

    def encoder(texts):
        batches.append(len(texts))
        return [[len(text), 1.0] for text in texts]

    made = filing.read(None, iter(corpus.texts[:10]), encoder=encoder)
    assert batches == [4, 4, 2]
    assert made.vectors.read(slice(0, 10))[:, 0].tolist() == [len(text) for text in corpus.texts[:10]]


def test_given_weights_take_the_place_of_texts(corpus):
    made = filing.read(corpus.vectors[:2], terms=hi2.TermWeights(), term_weights=[{"red": 2.0}, {}])
    assert made.bags.values.tolist() == [2.0]
    with pytest.raises(hi2.InvalidParameter, match=r"'term_weights'.*left out"):
        filing.read(corpus.vectors[:1], ["red"], terms=hi2.BM25(), term_weights=[{"red": 1.0}])


def test_a_reader_is_that_of_its_spec_or_its_fitted_selector(corpus):
    model = filing.model_of(corpus)
    assert term_reader(None) is None
    assert term_reader(model.terms).tokenizer is model.terms.tokenizer
    assert term_reader(hi2.BM25(tokenizer=HashedWordTokenizer(n_terms=512))).tokenizer.n_terms == 512
    with pytest.raises(hi2.InvalidParameter, match=r"'terms'.*BM25\(\.\.\.\)"):
        term_reader("BM25")


def test_terms_of_texts_alone_are_collected(corpus):
    reader = term_reader(hi2.BM25())
    bags = collect_terms(reader, iter(corpus.texts[:9]), 9, filing.SILENT)
    assert len(bags) == 9
    with pytest.raises(hi2.InvalidParameter, match=r"'texts'.*\(9\).*8"):
        collect_terms(reader, corpus.texts[:8], 9, filing.SILENT)
    with pytest.raises(hi2.InvalidParameter, match="given weights"):
        collect_terms(term_reader(hi2.TermWeights()), corpus.texts[:9], 9, filing.SILENT)


def test_words_are_counted_where_scores_of_a_trained_scorer_are_given():
    """The scores are of the terms that documents are filed under, not of the words they have."""
    texts, weights = ["red red bird", "green stone"], [{"red": 1.5}, {"stone": 0.25}]
    fitted = hi2.HybridIndex.build(np.eye(2), texts, terms=hi2.BM25(tokenizer="wordpiece")).model.terms
    learned = replace(fitted, spec=LearnedTerms(), evidence=replace(fitted.evidence, noted=0, rare=0))
    index = hi2.HybridIndex.build(np.eye(2), texts, terms=learned, term_weights=weights)
    index.verify()
    segment = index._index.state.snapshot.segments[0].segment
    offsets, _, counts, lengths = segment.native.bags(segment.docs().astype(np.uint32))
    assert [sorted(counts[: int(offsets[1])].tolist()), lengths.tolist()] == [[1, 2], [3, 2]]
    assert len(segment.native.term_postings()[0]) == 2
    with pytest.raises(hi2.InvalidParameter, match=r"'texts' parameter must be given: documents .* have bags"):
        hi2.HybridIndex.build(np.eye(2), terms=learned, term_weights=weights)
    assert len(index) == 2
    with pytest.raises(hi2.InvalidParameter, match="'texts'"):
        index.add(np.eye(2), term_weights=weights)
    assert len(index) == 2
