"""Terms of documents and of queries are chosen as the paper defines."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle
from hi2.selectors import terms
from hi2.selectors.terms import fit_terms

VECTORS = np.eye(3, dtype=np.float32)


@pytest.fixture(scope="module")
def fitted(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts).model.terms


@pytest.fixture(scope="module")
def judge(corpus, fitted):
    tokens = [[fitted.tokenizer.number(t) for t in fitted.tokenizer.tokens(text)] for text in corpus.texts]
    return oracle.TermSide.bm25(tokens)


def test_documents_are_filed_under_the_oracles_terms(corpus, fitted, judge):
    bags = fitted.spec.bags(fitted.tokenizer, corpus.texts)
    selection = fitted.select(bags)
    for doc in range(len(corpus.texts)):
        begin, end = int(selection.offsets[doc]), int(selection.offsets[doc + 1])
        assert selection.terms[begin:end].tolist() == judge.chosen(doc, 15)
        expected = [judge.scores[doc][t] for t in selection.terms[begin:end].tolist()]
        np.testing.assert_allclose(selection.scores[begin:end], expected, rtol=1e-5)


def test_a_short_document_is_not_filed_under_all_its_terms(fitted):
    selection = fitted.select(fitted.spec.bags(fitted.tokenizer, ["of the in", "it", "", "a of the in it"]))
    assert np.diff(selection.offsets).tolist() == [2, 1, 0, 3]


def test_a_short_query_opens_all_its_terms_once(fitted):
    _, terms, _, words = fitted.query_terms(["the index of the index"], 32)
    assert [fitted.tokenizer.name(t) for t in terms.tolist()] == ["the", "index", "of"]
    assert words.tolist() == terms.tolist()


def test_a_long_query_opens_the_terms_with_the_highest_means(fitted, judge):
    text = "the sqlite database of a compressed archive in the thread pool"
    tokens = [fitted.tokenizer.number(t) for t in fitted.tokenizer.tokens(text)]
    _, terms, _, words = fitted.query_terms([text], 4)
    assert terms.tolist() == judge.query(tokens, 4)
    assert words.tolist() == [t for t in dict.fromkeys(tokens) if t is not None]  # all of them rank
    assert not {"the", "of", "a", "in"} & {fitted.tokenizer.name(t) for t in terms.tolist()}


def test_added_documents_do_not_change_the_statistics(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:300], corpus.texts[:300], codec=hi2.Flat())
    df, means = index.model.terms.df.copy(), index.model.terms.mean_scores.copy()
    index.add(corpus.vectors[300:], corpus.texts[300:])
    np.testing.assert_array_equal(index.model.terms.df, df)
    np.testing.assert_array_equal(index.model.terms.mean_scores, means)


@pytest.mark.parametrize(
    ("match", "spec", "keywords"),
    [
        (r"'per_doc'.*1 to 256.*Got 0", hi2.BM25, {"per_doc": 0}),
        (r"'per_doc'.*Got 257", hi2.BM25, {"per_doc": 257}),
        (r"'per_doc'", hi2.BM25, {"per_doc": 1.5}),
        (r"'per_doc'.*True", hi2.BM25, {"per_doc": True}),
        (r"'gamma'.*0.0 to 1.0.*2", hi2.BM25, {"gamma": 2}),
        (r"'beta'", hi2.BM25, {"beta": -1}),
        (r"'max_tokens'", hi2.BM25, {"max_tokens": 0}),
        (r"'max_tokens'", hi2.BM25, {"max_tokens": 2**63}),
        (r"'max_tokens'", hi2.BM25, {"max_tokens": 10**5000}),
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    with pytest.raises(hi2.InvalidParameter, match=match):
        spec(**keywords)


def test_max_tokens_truncates_documents(corpus):
    short = hi2.HybridIndex.build(corpus.vectors, corpus.texts, terms=hi2.BM25(max_tokens=10))
    assert short.model.terms.average_length <= 10


def test_documents_are_filed_under_their_heaviest_terms():
    rows = [{"red": 3.0, "green": 2.0, "blue": 1.0}, {"green": 1.0}, {"cloud": 1.0}]
    index = hi2.HybridIndex.build(VECTORS, term_weights=rows, terms=hi2.TermWeights(per_doc=2))
    find = lambda text: sorted(index.search(VECTORS[0], text, clusters=0, k=3).ids.tolist())  # noqa: E731
    assert find("red") == [0]
    assert find("green") == [0, 1]
    assert find("blue") == []  # the third best term of a document filed under two
    assert find("cloud") == [2]
    np.testing.assert_allclose(index.model.terms.mean_scores[index.model.terms.tokenizer.number("green")], 1.5)


def test_given_weights_replace_bm25():
    index = hi2.HybridIndex.build(VECTORS, term_weights=[{"red": 1.0}] * 3)
    assert isinstance(index.model.terms.spec, hi2.TermWeights)


def test_added_documents_need_weights_too(tmp_path):
    index = hi2.HybridIndex.build(VECTORS, term_weights=[{"red": 1.0}] * 3, path=tmp_path / "a")
    index.add(VECTORS[:1], term_weights=[{"blue": 2.0}])
    with pytest.raises(hi2.InvalidParameter, match=r"'term_weights'.*given"):
        index.add(VECTORS[:1], ["blue"])
    index.commit()
    index.close()
    assert hi2.HybridIndex.open(tmp_path / "a").search(VECTORS[0], "blue", clusters=0).ids.tolist() == [3]


def test_gains_multiply_the_scores_and_their_means(corpus, fitted):
    bags = fitted.spec.bags(fitted.tokenizer, corpus.texts[:50])
    gains = np.linspace(0, 2, fitted.n_terms, dtype=np.float32)
    trained = fit_terms(fitted.spec, bags, fitted.tokenizer, gains)
    plain = fit_terms(fitted.spec, bags, fitted.tokenizer)
    np.testing.assert_allclose(trained.scores(bags), plain.scores(bags) * gains[bags.terms], rtol=1e-6)
    np.testing.assert_allclose(trained.mean_scores, plain.mean_scores * gains, rtol=1e-5)


def test_terms_are_selected_block_by_block_as_at_once(corpus, fitted, monkeypatch):
    bags = fitted.spec.bags(fitted.tokenizer, corpus.texts)
    whole, statistics = fitted.select(bags), fitted.spec.fit(bags, fitted.tokenizer)
    monkeypatch.setattr(terms, "_ROWS_AT_A_TIME", 7)
    blocks = fitted.select(bags)
    for name in ("offsets", "terms", "scores"):
        np.testing.assert_array_equal(getattr(blocks, name), getattr(whole, name))
    again = fitted.spec.fit(bags, fitted.tokenizer)
    np.testing.assert_allclose(again.mean_scores, statistics.mean_scores, rtol=1e-6)


def test_given_weights_are_not_capped_at_half_of_the_terms(fitted):
    spec = hi2.TermWeights(per_doc=4)
    bags = spec.bags(fitted.tokenizer, [{"red": 3.0, "green": 2.0, "blue": 1.0}, {}])
    selection = spec.fit(bags, fitted.tokenizer).select(bags)
    assert [fitted.tokenizer.name(int(t)) for t in selection.terms] == ["red", "green", "blue"]
    assert selection.scores.tolist() == [3, 2, 1]
    assert selection.offsets.tolist() == [0, 3, 3]


def test_a_fitted_selector_does_not_keep_the_tokenizer_in_its_spec(fitted):
    assert fitted.spec.tokenizer is None
    assert repr(fitted.spec) == repr(hi2.BM25(tokenizer=None))


def test_queries_without_text_open_no_terms(fitted):
    offsets, opened, word_offsets, words = fitted.query_terms([None, "index", ""], 32)
    assert offsets.tolist() == word_offsets.tolist() == [0, 0, 1, 1]
    assert opened.tolist() == words.tolist()
    assert fitted.tokenizer.name(int(opened[0])) == "index"
