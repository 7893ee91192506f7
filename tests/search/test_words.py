"""Words alone rank all documents that have one of them, and signs say which words a document must or must not have."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hi2
import oracle
from hi2.errors import InvalidParameter
from hi2.search.candidates import every_document
from hi2.search.words import evidence_of, execute_words, read_signs

FITTED = 300


@pytest.fixture(scope="module")
def grown(corpus):
    """Several segments and deleted documents; what was added has words that no fitted document has."""
    index = hi2.HybridIndex.build(
        corpus.vectors[:FITTED],
        corpus.texts[:FITTED],
        ids=corpus.ids[:FITTED],
        payload=[{"number": i} for i in range(FITTED)],
        codec=hi2.Flat(),
    )
    for begin in range(FITTED, len(corpus.ids), 200):
        own = slice(begin, begin + 200)
        payload = [{"number": i} for i in range(len(corpus.ids))[own]]
        index.add(corpus.vectors[own], corpus.texts[own], ids=corpus.ids[own], payload=payload)
    index.delete(corpus.ids[5::11])
    return index


@pytest.fixture(scope="module")
def judge(corpus, grown):
    """The BM25 of every living document to every query, by the oracle."""
    tokens = grown.model.terms.tokenizer.tokens
    documents = [tokens(text) for text in corpus.texts]
    words = oracle.Words.fitted(documents[:FITTED])
    alive = [i for i in range(len(corpus.ids)) if i not in set(range(5, len(corpus.ids), 11))]
    return [{corpus.ids[i]: words.score(tokens(text), documents[i]) for i in alive} for text in corpus.query_texts]


def check(hits, expected, k, n_scored):
    """Whether hits are the k best of the expected scores; documents without any of the words are no hits."""
    found = {id: score for id, score in expected.items() if score > 0}
    assert len(hits) == hits.counts == min(k, len(found))
    assert len(hits) <= hits.n_scored <= n_scored  # bags of documents that cannot be among the best are not read
    best = np.array(sorted(found.values(), reverse=True)[:k])
    np.testing.assert_allclose(hits.scores, best, rtol=1e-5)
    np.testing.assert_allclose(hits.scores, [expected[id] for id in hits.ids.tolist()], rtol=1e-5)
    assert hits.lexical.tolist() == hits.scores.tolist()
    assert hits.dense is None


@pytest.mark.parametrize("k", [1, 10, 300])
def test_words_alone_rank_like_the_oracle(corpus, grown, judge, k):
    batch = grown.search(None, corpus.query_texts, k=k, threads=8)
    for i, text in enumerate(corpus.query_texts):
        one = grown.search(None, text, k=k)
        check(one, judge[i], k, len(grown))
        check(batch[i], judge[i], k, len(grown))
        assert one.ids.tolist() == batch[i].ids.tolist()
        assert one.complete is None
        if k == 10:
            assert grown.search(text, k=k).ids.tolist() == one.ids.tolist()  # there is no encoder
    assert batch.ids.shape == batch.scores.shape == batch.lexical.shape == (len(batch), k)
    assert grown.search(corpus.query_texts, k=k).ids.tolist() == batch.ids.tolist()


def test_a_filter_limits_what_words_find(corpus, grown, judge):
    place = {id: i for i, id in enumerate(corpus.ids)}
    filters = ["number < 350", None, "number >= 600", corpus.ids[:40]]
    passes = [lambda i: i < 350, lambda i: True, lambda i: i >= 600, lambda i: i < 40]
    batch = grown.search(None, corpus.query_texts[:4], k=20, filters=filters)
    for i, (own, keeps) in enumerate(zip(filters, passes, strict=True)):
        expected = {id: score for id, score in judge[i].items() if keeps(place[id])}
        check(batch[i], expected, 20, len(expected))
        one = grown.search(None, corpus.query_texts[i], k=20, filter=own)
        assert one.ids.tolist() == batch[i].ids.tolist()
        assert one.complete is (None if own is None else True)
    for all_of_them in ("number < 350", every_document(grown._index.state.snapshot)):
        hits = execute_words(grown._index.state, corpus.query_texts[:2], 5, filter=all_of_them)
        assert hits.complete.tolist() == [True, True]
    with pytest.raises(InvalidParameter, match=r"'filters'.*one per query \(2\)"):
        grown.search(None, corpus.query_texts[:2], filters=["number < 3"])


def test_pages_thresholds_and_groups_are_of_word_scores(corpus, grown):
    text = corpus.query_texts[4]
    whole = grown.search(None, text, k=60)
    pages = [grown.search(None, text, k=20, offset=offset) for offset in (0, 20, 40)]
    assert np.concatenate([page.ids for page in pages]).tolist() == whole.ids.tolist()
    least = float(whole.scores[9])
    assert (
        grown.search(None, text, k=60, min_score=least).scores.tolist() == whole.scores[whole.scores >= least].tolist()
    )
    grouped = grown.search(None, text, k=7, group_by="number")
    assert grouped.ids.tolist() == whole.ids[:7].tolist()
    assert grouped.lexical.tolist() == whole.lexical[:7].tolist()


def test_texts_whose_words_no_document_has_find_nothing(grown):
    for text in ("hippopotamus", "", "  ,;", "\x00"):
        hits = grown.search(None, text)
        assert (len(hits), hits.counts) == (0, 0)
    batch = grown.search(None, ["hippopotamus", "module"], k=3)
    assert batch.counts.tolist() == [0, 3]
    assert batch.ids[0].tolist() == [None] * 3
    assert len(grown.search(None, [])) == 0


def test_words_alone_are_not_counted_as_searches_of_lists(small):
    before = small.info()["searches"]
    small.search(None, "module")
    assert small.info()["searches"] == before


def test_words_alone_count_whole_documents_and_not_only_their_lists(corpus):
    """A document is filed under few of its words, and is found by all."""
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, terms=hi2.BM25(per_doc=1))
    tokens = index.model.terms.tokenizer.tokens
    has = {id for id, text in zip(corpus.ids, corpus.texts, strict=True) if tokens("return")[0] in tokens(text)}
    assert len(has) > 50
    assert set(index.search(None, "returns", k=1000).ids.tolist()) == has


@pytest.mark.parametrize("tokenizer", ["wordpiece", "words"])
def test_any_analyzer_ranks_by_its_words(corpus, tokenizer):
    terms = hi2.BM25(tokenizer=tokenizer)
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, terms=terms)
    tokens = index.model.terms.tokenizer.tokens
    documents = [tokens(text) for text in corpus.texts]
    words = oracle.Words.fitted(documents)
    for text in corpus.query_texts[::7]:
        expected = {id: words.score(tokens(text), own) for id, own in zip(corpus.ids, documents, strict=True)}
        check(index.search(None, text, k=9), expected, 9, len(index))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["one", None], r"'texts'.*None in row 1"),
        (["one", 2], r"'texts'.*2 in row 1"),
        (3, "'texts'"),
        (["\ud800"], "valid Unicode"),
        ("\ud800", "valid Unicode"),
    ],
)
def test_texts_that_are_none_are_refused(grown, texts, said):
    with pytest.raises(InvalidParameter, match=said):
        grown.search(None, texts)


def test_neither_a_vector_nor_a_text_is_refused(grown):
    with pytest.raises(InvalidParameter, match="'vectors'"):
        grown.search(None)
    with pytest.raises(InvalidParameter, match="'vectors'"):
        grown.search(None, None, syntax=True)


def test_an_index_without_bags_says_how_to_get_them(corpus):
    bare = hi2.HybridIndex.build(corpus.vectors[:20], corpus.texts[:20], bags=False)
    clusters = hi2.HybridIndex.build(corpus.vectors[:20], terms=None)
    for index in (bare, clusters):
        for call in (
            lambda: index.search(None, "module"),  # noqa: B023 - called at once
            lambda: index.search("module"),  # noqa: B023
            lambda: index.search(corpus.vectors[0], "+module", syntax=True),  # noqa: B023
            lambda: evidence_of(index.model, "vectors"),  # noqa: B023
        ):
            with pytest.raises(InvalidParameter, match=r"bags.*refit\(\)"):
                call()
        assert len(index.search(corpus.vectors[0], "module", syntax=True)) == 10  # there are no signs


# -- words that documents must or must not have -----------------------------------------------------------------------


TEXTS = ["red apples and pears", "a green apple", "the red car", "pear tree", "Apples, apples: red-green", ""]


@pytest.fixture
def fruit():
    vectors = np.random.default_rng(0).standard_normal((len(TEXTS), 8)).astype(np.float32)
    payload = [{"number": i} for i in range(len(TEXTS))]
    index = hi2.HybridIndex.build(vectors[:4], TEXTS[:4], payload=payload[:4])
    index.add(vectors[4:], TEXTS[4:], payload=payload[4:])
    return index


SIGNED = {
    "+apple": {0, 1, 4},
    "+apple +red": {0, 4},
    "+apple -red": {1},
    "-apple": {2, 3, 5},
    "+red -apples -car": set(),
    "+red-green": {4},  # all words of one that has several
    "-red-green": {0, 1, 2, 3, 5},  # likewise
    "+hippopotamus": set(),
    "+apple +hippopotamus": set(),
    "-hippopotamus": {0, 1, 2, 3, 4, 5},
    "+APPLES": {0, 1, 4},
    "apple": {0, 1, 2, 3, 4, 5},
    "red - apple": {0, 1, 2, 3, 4, 5},
}


@pytest.mark.parametrize("text", SIGNED)
def test_signs_keep_documents_with_and_without_words(fruit, text):
    vector = np.ones(8, np.float32)
    everything = {"k": 10, "clusters": 100}
    hits = fruit.search(vector, text, syntax=True, **everything)
    assert set(hits.ids.tolist()) == SIGNED[text]
    assert set(fruit.search(vector, text, **everything).ids.tolist()) == set(range(6))  # a sign is text without syntax
    assert set(fruit.search(vector, text, syntax=True, lexical=0, **everything).ids.tolist()) == SIGNED[text]
    plain = re.sub(r"(?<!\S)-\w\S*", "", text).replace("+", "")
    alone = set(fruit.search(None, plain).ids.tolist())
    assert set(fruit.search(None, text, syntax=True).ids.tolist()) == SIGNED[text] & alone
    assert set(fruit.search(text, syntax=True).ids.tolist()) == SIGNED[text] & alone


def test_signed_words_rank_as_words_and_excluded_ones_do_not(fruit):
    vector = np.ones(8, np.float32)
    signed = fruit.search(vector, "+apple tree -car", k=9, syntax=True)
    plain = fruit.search(vector, "apple tree", k=9, filter=[0, 1, 4])
    assert signed.ids.tolist() == plain.ids.tolist()
    assert signed.scores.tolist() == plain.scores.tolist()
    assert signed.lexical.tolist() == plain.lexical.tolist()


def test_signs_are_combined_with_filters(fruit):
    vectors = np.ones((4, 8), np.float32)
    texts = ["+apple", "red", "-apple", None]
    both = fruit.search(vectors, texts, k=9, clusters=100, filter="number < 3", syntax=True)
    assert [set(both[i].ids.tolist()) for i in range(4)] == [{0, 1}, {0, 1, 2}, {2}, {0, 1, 2}]
    filters = [None, [4, 5], "number > 2", None]
    each = fruit.search(vectors, texts, k=9, clusters=100, filters=filters, syntax=True)
    assert [set(each[i].ids.tolist()) for i in range(4)] == [{0, 1, 4}, {4, 5}, {3, 5}, set(range(6))]
    with pytest.raises(InvalidParameter, match=r"'filters'.*one per query \(4\)"):
        fruit.search(vectors, texts, filters=["number < 3"], syntax=True)


def test_signs_follow_changes(fruit):
    vector = np.ones(8, np.float32)

    def found(text):
        return set(fruit.search(vector, text, k=20, clusters=100, syntax=True).ids.tolist())

    assert found("+apple") == {0, 1, 4}
    fruit.delete([1])
    assert (found("+apple"), found("-apple")) == ({0, 4}, {2, 3, 5})
    fruit.add(np.ones((2, 8)), ["apple hippopotamus", "more"], payload=[{}, {}])
    assert (found("+apple"), found("+hippopotamus"), found("-hippopotamus")) == ({0, 4, 6}, {6}, {0, 2, 3, 4, 5, 7})
    fruit.merge()
    assert (found("+apple"), found("+hippopotamus")) == ({0, 4, 6}, {6})


def test_texts_are_read_once_and_equal_signs_share_their_documents(fruit):
    state = fruit._index.state
    texts, filter = read_signs(state, ["+apple red", "a plain text", "+apple car", None], None, 1)
    assert texts == ["apple red", "a plain text", "apple car", None]
    assert filter.filters[0] is filter.filters[2]
    assert (filter.filters[1], filter.filters[3]) == (None, None)
    assert read_signs(state, "plain", "number < 3", 1) == ("plain", "number < 3")
    assert read_signs(state, None, None, 1) == (None, None)
    assert read_signs(state, iter(["plain", "text"]), None, 1) == (["plain", "text"], None)
    text, matches = read_signs(state, "-car", None, 1)
    assert (text.strip(), matches.n) == ("", 5)


@pytest.mark.parametrize(("texts", "said"), [(5, "'texts'"), ([5], "'texts'"), ("+\ud800a", "valid Unicode")])
def test_texts_that_cannot_have_signs_are_refused(fruit, texts, said):
    vectors = np.ones(8) if not isinstance(texts, list) else np.ones((1, 8))
    with pytest.raises(InvalidParameter, match=said):
        fruit.search(vectors, texts, syntax=True)


def test_syntax_is_true_or_false(fruit):
    with pytest.raises(InvalidParameter, match="'syntax'"):
        fruit.search(np.ones(8), "red", syntax="yes")
