"""Scores by meaning and words are those of the oracle on every code path, and depend on nothing but the document."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import hi2
import oracle
from hi2 import _native
from hi2.search.effort import DEFAULT_LEXICAL

#: Documents that the parts are fitted to, and all documents: the others have words that no fitted one has.
FITTED, N = 240, 360
GONE = range(3, N, 7)
EVERYTHING = {"k": N, "clusters": 10**6}
TOKENIZERS = ["english", "words", "wordpiece"]


@dataclass(frozen=True)
class Case:
    """Documents and queries as words, and the parts fitted to the first documents."""

    corpus: object
    model: object
    documents: list[list[str]]
    queries: list[list[str]]

    @cached_property
    def words(self):
        return oracle.Words.fitted(self.documents[:FITTED])

    def score(self, query, document):
        """What words are worth beside dense scores."""
        return self.words.score(query, document)

    def parts(self):
        return {"clusters": self.model.clusters, "terms": self.model.terms, "codec": self.model.codec}

    def build(self, begin=0, end=N, **changes):
        corpus = self.corpus
        given = {"ids": corpus.ids[begin:end], **self.parts(), **changes}
        return hi2.HybridIndex.build(corpus.vectors[begin:end], corpus.texts[begin:end], **given)

    def grown(self, **changes):
        """The same documents in several segments."""
        index, corpus = self.build(0, 200, **changes), self.corpus
        for begin, end in ((200, 300), (300, 340), (340, 359), (359, N)):
            index.add(corpus.vectors[begin:end], corpus.texts[begin:end], ids=corpus.ids[begin:end])
        return index


def make_case(corpus, tokenizer):
    terms = hi2.BM25(tokenizer=tokenizer)
    first = hi2.HybridIndex.build(corpus.vectors[:FITTED], corpus.texts[:FITTED], terms=terms, codec=hi2.Flat())
    tokens = first.model.terms.tokenizer.tokens
    documents = [tokens(text) for text in corpus.texts[:N]]
    return Case(corpus, first.model, documents, [tokens(text) for text in corpus.query_texts])


@pytest.fixture(scope="module", params=TOKENIZERS)
def case(request, corpus):
    return make_case(corpus, request.param)


@pytest.fixture(scope="module")
def english(corpus):
    return make_case(corpus, "english")


def one_segment(case, tmp_path):
    return case.build(), ()


def many_segments(case, tmp_path):
    index = case.grown()
    assert index.info()["n_segments"] > 3
    return index, ()


def with_deletions(case, tmp_path):
    index = case.grown()
    index.delete([case.corpus.ids[i] for i in GONE])
    return index, GONE


def merged(case, tmp_path):
    index, gone = with_deletions(case, tmp_path)
    index.merge()
    assert index.info()["n_segments"] == 1
    return index, gone


def mapped(case, tmp_path):
    index, gone = with_deletions(case, tmp_path)
    index.save(tmp_path / "a")
    return hi2.HybridIndex.open(tmp_path / "a"), gone


def read_from_files(case, tmp_path):
    case.grown().save(tmp_path / "a")
    return hi2.HybridIndex.open(tmp_path / "a", mmap=False), ()


ROADS = [one_segment, many_segments, with_deletions, merged, mapped, read_from_files]


@pytest.mark.parametrize("weight", [None, 1.5])
@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_scores_and_their_parts_equal_the_oracles(case, road, weight, tmp_path):
    index, gone = road(case, tmp_path)
    corpus = case.corpus
    spread = oracle.spread(corpus.vectors[:FITTED])
    assert index.model.evidence.spread == pytest.approx(spread, rel=1e-5)
    alive = [i for i in range(N) if i not in set(gone)]
    hits = index.search(corpus.query_vectors, corpus.query_texts, lexical=weight, threads=1, **EVERYTHING)
    eight = index.search(corpus.query_vectors, corpus.query_texts, lexical=weight, threads=8, **EVERYTHING)
    same(hits, eight)
    place = {id: i for i, id in enumerate(corpus.ids)}
    doubts: list[float] = []
    specificities: list[float] = []
    for query, (vector, asked) in enumerate(zip(corpus.query_vectors, case.queries, strict=True)):
        dense = corpus.vectors[:N].astype(np.float64) @ vector.astype(np.float64)
        lexical = np.array([case.score(asked, document) for document in case.documents])
        clusters = index.model.clusters
        doubt = oracle.doubt(vector, clusters.centroids, clusters.anchors, corpus.vectors[:FITTED])
        doubts.append(doubt)
        specificities.append(case.words.specificity(asked))
        word_weight = oracle.word_weight(vector, doubt, specificities[-1])
        terms = index.model.terms.query_terms([corpus.query_texts[query]], 0)[3]
        assert index.model.native.word_weight(vector, terms) == pytest.approx(word_weight, rel=1e-4)
        scores = oracle.combined(
            dense,
            lexical,
            weight=DEFAULT_LEXICAL if weight is None else weight,
            spread=spread,
            word_weight=word_weight,
        )
        own = hits[query]
        found = [place[id] for id in own.ids.tolist()]
        assert sorted(found) == alive
        np.testing.assert_allclose(own.dense, dense[found], atol=2e-6)
        np.testing.assert_allclose(own.lexical, lexical[found], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(own.scores, scores[found], rtol=1e-5, atol=5e-6)
        assert np.diff(scores[found]).max() < 1e-5  # best first
        assert (np.diff(own.scores) <= 0).all()
    assert max(doubts) > 1
    assert min(specificities) < 1
    assert (hits.lexical > 0).any()
    assert (hits.dense != hits.scores).any()


def same(a, b):
    assert (a.ids == b.ids).all()
    for name in ("scores", "dense", "lexical", "n_scored"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_documents_that_were_added_bring_their_words(english, tmp_path):
    """Words that no fitted document has are worth what a word in no document is worth."""
    index, _ = many_segments(english, tmp_path)
    words, corpus = english.words, english.corpus
    new = [(doc, word) for doc in range(FITTED, N) for word in english.documents[doc] if not words.df[word]]
    assert len(new) > 50
    for doc, word in new[::20]:
        hits = index.search(corpus.vectors[doc], word, filter=[corpus.ids[doc]])
        assert hits.lexical[0] == pytest.approx(english.score([word], english.documents[doc]), rel=1e-5)
        assert hits.lexical[0] > 0


@pytest.mark.parametrize("level", _native.simd_levels())
def test_simd_levels_give_the_same_scores(english, level, tmp_path):
    """Many words in a query as well as few: they are looked up in groups of 64."""
    index = english.grown()
    index.delete([english.corpus.ids[i] for i in GONE])
    index.save(tmp_path / "a")
    corpus = english.corpus
    texts = [*corpus.query_texts[:20], " ".join(corpus.texts[:40])]
    np.save(tmp_path / "q.npy", corpus.query_vectors[: len(texts)])
    (tmp_path / "texts").write_text("\0".join(texts), encoding="utf-8")
    script = """
import hashlib, sys
from pathlib import Path
import numpy as np, hi2
from hi2 import _native
folder = Path(sys.argv[1])
index = hi2.HybridIndex.open(folder / "a")
vectors, texts = np.load(folder / "q.npy"), (folder / "texts").read_text(encoding="utf-8").split("\\0")
digest = hashlib.sha256()
signed = ["+" + text.split()[0] if text[:1].isalpha() else text for text in texts]
for hits in (index.search(vectors, texts, k=300, clusters=1000), index.search(vectors, texts, k=7),
             index.search(None, texts, k=300), index.search(vectors, signed, k=7, syntax=True)):
    for part in (hits.scores, hits.dense, hits.lexical):
        digest.update(b"" if part is None else part.tobytes())
    digest.update(repr(hits.ids.tolist()).encode())
print(_native.simd_level(), digest.hexdigest())
"""

    def run(level):
        command, environment = [sys.executable, "-c", script, tmp_path], {**os.environ, "HI2_SIMD": level}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    used, digest = run(level)
    assert used == level
    assert digest == run("scalar")[1]


@pytest.fixture(
    scope="module",
    params=[
        {"codec": hi2.Flat()},
        {"codec": hi2.SQ8(residual=True)},
        {"codec": hi2.RaBitQ(bits=2), "refine": hi2.SQ8()},
        {"codec": hi2.PQ(subspaces=5), "refine": hi2.Half()},
    ],
    ids=repr,
)
def parts(request):
    return request.param


@pytest.fixture(scope="module")
def whole(corpus, parts):
    payload = [{"number": i, "group": i % 90} for i in range(len(corpus.texts))]
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, payload=payload, **parts)


def scores_of(hits):
    """(score, dense, lexical) of every hit of one query, by id."""
    assert len(hits.ids) == len(set(hits.ids.tolist()))
    return dict(zip(hits.ids.tolist(), zip(hits.scores, hits.dense, hits.lexical, strict=True), strict=True))


def test_ten_hits_are_the_first_ten_of_a_hundred(corpus, whole):
    ten = whole.search(corpus.query_vectors, corpus.query_texts, k=10)
    hundred = whole.search(corpus.query_vectors, corpus.query_texts, k=100)
    assert (ten.ids == hundred.ids[:, :10]).all()
    for name in ("scores", "dense", "lexical"):
        np.testing.assert_array_equal(getattr(ten, name), getattr(hundred, name)[:, :10])


def test_the_score_of_a_document_depends_on_nothing_else(corpus, whole):
    """Not on k, offset, filter, effort, the other hits or whether the query is one of a batch."""
    batch = whole.search(corpus.query_vectors, corpus.query_texts, k=100)
    for i in range(0, len(corpus.query_texts), 6):
        vector, text = corpus.query_vectors[i], corpus.query_texts[i]
        known = scores_of(whole.search(vector, text, k=len(corpus.ids), clusters=10**6))
        assert len(known) == len(corpus.ids)
        some = list(known)[::50]
        for given in (
            {"k": 1},
            {"k": 300},
            {"offset": 20},
            {"filter": some},
            {"filter": "number < 400", "k": 30},
            {"clusters": 1},
            {"terms": 2},
            {"per_doc": 1},
            {"budget": 40},
            {"adaptive": 0.01},
            {"group_by": "group"},
            {"min_score": 0.3},
            {"terms": 0, "lexical": DEFAULT_LEXICAL},
        ):
            found = scores_of(whole.search(vector, text, **given))
            assert found, given
            assert found == {id: known[id] for id in found}, given
        assert scores_of(batch[i]) == {id: known[id] for id in batch[i].ids.tolist()}
        assert set(scores_of(whole.search(vector, text, k=99, filter=some))) == set(some)


def test_segments_do_not_change_a_score(corpus, whole, parts):
    model = whole.model
    fitted = {name: getattr(model, name) for name in ("clusters", "terms", *parts)}
    half = len(corpus.ids) // 2
    many = hi2.HybridIndex.build(corpus.vectors[:half], corpus.texts[:half], ids=corpus.ids[:half], **fitted)
    many.add(corpus.vectors[half:], corpus.texts[half:], ids=corpus.ids[half:])
    asked = {"k": len(corpus.ids), "clusters": 10**6}
    one = whole.search(corpus.query_vectors, corpus.query_texts, **asked)
    same(one, many.search(corpus.query_vectors, corpus.query_texts, **asked))
    many.merge()
    same(one, many.search(corpus.query_vectors, corpus.query_texts, **asked))


@pytest.mark.parametrize("metric", ["inner_product", "cosine"])
def test_the_length_of_vectors_does_not_change_the_ranking(corpus, metric):
    one, four = (
        hi2.HybridIndex.build(
            np.float32(scale) * corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.Flat(), metric=metric
        )
        for scale in (1, 4)
    )
    asked = {"k": len(corpus.ids), "clusters": 10**6}
    plain = one.search(corpus.query_vectors, corpus.query_texts, **asked)
    scaled = four.search(corpus.query_vectors, corpus.query_texts, **asked)
    factor = 4 if metric == "inner_product" else 1
    assert four.model.evidence.spread == pytest.approx(factor * one.model.evidence.spread)
    assert (plain.ids == scaled.ids).all()
    np.testing.assert_allclose(scaled.scores, factor * plain.scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(scaled.lexical, plain.lexical)
    for length in (0.25, 1000.0, 0.3):
        longer = one.search(np.float32(length) * corpus.query_vectors, corpus.query_texts, **asked)
        own = length if metric == "inner_product" else 1
        np.testing.assert_allclose(longer.scores, own * plain.scores, rtol=1e-5, atol=1e-6 * own)
        apart = np.diff(plain.scores, axis=1, prepend=np.inf, append=-np.inf) < -1e-5
        certain = apart[:, :-1] & apart[:, 1:]  # of the others, some are equal documents
        assert certain.mean() > 0.8
        assert (longer.ids == plain.ids)[certain].all()


def test_a_document_that_is_better_in_both_parts_is_ranked_before(corpus, whole):
    hits = whole.search(corpus.query_vectors, corpus.query_texts, k=300, clusters=10**6)
    for i in range(0, len(hits), 9):
        dense, lexical = hits[i].dense, hits[i].lexical
        later = np.triu(np.ones((len(dense), len(dense)), bool), 1)
        better = (dense[None] > dense[:, None]) & (lexical[None] > lexical[:, None])
        assert not (later & better).any()
        assert ((dense[None] > dense[:, None]) & later).any()  # each part alone ranks otherwise
        assert ((lexical[None] > lexical[:, None]) & later).any()


def test_a_larger_weight_moves_the_ranking_towards_words(corpus, whole):
    asked = {"k": 20, "clusters": 10**6}
    sums = []
    for weight in (1e-6, 0.05, 0.2, 1, 5, 1000):
        hits = whole.search(corpus.query_vectors, corpus.query_texts, lexical=weight, **asked)
        sums.append(hits.lexical[:, 0])
    for fewer, more in itertools.pairwise(sums):
        assert (more >= fewer - 1e-5).all()
    assert sums[-1].sum() > 1.05 * sums[0].sum()


def test_a_threshold_and_pages_are_of_combined_scores(corpus, whole):
    for vector, text in zip(corpus.query_vectors[:9], corpus.query_texts[:9], strict=True):
        hits = whole.search(vector, text, k=60)
        least = float(hits.scores[7])
        assert least > float(hits.dense.max()) or (hits.dense[hits.scores >= least] < least).any()
        some = whole.search(vector, text, k=60, min_score=least)
        assert some.ids.tolist() == hits.ids[hits.scores >= least].tolist()
        pages = [whole.search(vector, text, k=20, offset=offset) for offset in (0, 20, 40)]
        for name in ("ids", "scores", "dense", "lexical"):
            np.testing.assert_array_equal(np.concatenate([getattr(page, name) for page in pages]), getattr(hits, name))


def test_grouping_takes_the_best_of_each_group(corpus, whole):
    for vector, text in zip(corpus.query_vectors[:9], corpus.query_texts[:9], strict=True):
        every = whole.search(vector, text, k=120, filter="number < 120")
        assert len(every) == 120
        best = {}
        for rank, id in enumerate(every.ids.tolist()):
            best.setdefault(corpus.ids.index(id) % 90, rank)
        ranks = sorted(best.values())[:70]
        found = whole.search(vector, text, k=70, filter="number < 120", group_by="group")
        for name in ("ids", "scores", "dense", "lexical"):
            np.testing.assert_array_equal(getattr(found, name), getattr(every, name)[ranks])


def test_one_query_and_a_batch_have_the_same_parts(corpus, whole):
    texts = [None if i % 3 == 0 else text for i, text in enumerate(corpus.query_texts)]
    batch = whole.search(corpus.query_vectors, texts, k=15)
    for i, (vector, text) in enumerate(zip(corpus.query_vectors, texts, strict=True)):
        for one in (whole.search(vector, text, k=15), whole.search(vector.tolist(), text, k=15)):
            assert one.ids.tolist() == batch[i].ids.tolist()
            assert one.scores.tolist() == batch[i].scores.tolist()
            if text is None:  # alone it does not rank by words; in a batch its words are worth nothing
                assert one.lexical is None
                assert one.dense.tolist() == one.scores.tolist()
                assert batch[i].dense.tolist() == batch[i].scores.tolist()
                assert not batch[i].lexical.any()
            else:
                assert one.dense.tolist() == batch[i].dense.tolist()
                assert one.lexical.tolist() == batch[i].lexical.tolist()


def test_a_weight_of_zero_is_the_ranking_of_an_index_without_bags(corpus, whole, parts):
    """Bit for bit, with every effort and every road."""
    model = whole.model
    fitted = {name: getattr(model, name) for name in ("clusters", *parts)}
    payload = [{"number": i, "group": i % 90} for i in range(len(corpus.texts))]
    bare = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, terms=model.terms, bags=False, payload=payload, **fitted
    )
    assert bare.model.evidence is None
    assert not any("bag" in name for name in bare._index.state.snapshot.segments[0].segment.arrays)
    with_words = whole.search(corpus.query_vectors, corpus.query_texts)
    for given in (
        {},
        {"k": 100},
        {"clusters": 2, "terms": 4, "per_doc": 3},
        {"adaptive": 0.01},
        {"budget": 50},
        {"filter": "number >= 100"},
        {"group_by": "group"},
        {"offset": 15},
        {"refine": 0},
    ):
        for queries, texts in (
            (corpus.query_vectors, corpus.query_texts),
            (corpus.query_vectors[3], corpus.query_texts[3]),
            (corpus.query_vectors[3].tolist(), corpus.query_texts[3]),
        ):
            zero = whole.search(queries, texts, lexical=0, **given)
            for other in (bare.search(queries, texts, **given), bare.search(queries, texts, lexical=0, **given)):
                assert (zero.ids == other.ids).all()
                for name in ("scores", "n_scored", "n_term_lists"):
                    np.testing.assert_array_equal(getattr(zero, name), getattr(other, name))
                assert zero.lexical is other.lexical is None
                for own in (zero, other):
                    np.testing.assert_array_equal(own.dense, own.scores)
    assert (with_words.scores != bare.search(corpus.query_vectors, corpus.query_texts).scores).any()


def test_filters_of_a_batch_are_those_of_single_queries(corpus, whole):
    filters = ["number < 300", None, corpus.ids[10:40], "number >= 500"]
    for texts in (corpus.query_texts[:4], None):
        batch = whole.search(corpus.query_vectors[:4], texts, k=20, filters=filters)
        for i, own in enumerate(filters):
            text = None if texts is None else texts[i]
            one = whole.search(corpus.query_vectors[i], text, k=20, filter=own)
            assert one.ids.tolist() == batch[i].ids.tolist()
            assert one.scores.tolist() == batch[i].scores.tolist()
            if texts is None:
                assert one.lexical is batch.lexical is None
            else:
                assert one.lexical.tolist() == batch[i].lexical.tolist()
                assert one.dense.tolist() == batch[i].dense.tolist()


def test_a_query_of_length_zero_has_no_words_either(corpus, whole):
    """Scores are relative to the length of the query."""
    hits = whole.search(np.zeros(40, np.float32), corpus.query_texts[0], k=5)
    assert not hits.scores.any()
    assert len(hits) == 5


def test_a_lower_per_doc_finds_what_an_index_built_with_it_finds(english):
    """Words rank too: a document that is no longer filed under a rare word is still a candidate by it."""
    corpus, deep = english.corpus, english.build()
    terms = hi2.BM25(per_doc=2, tokenizer="english")
    parts = {**english.parts(), "terms": terms}
    fitted = hi2.HybridIndex.build(corpus.vectors[:FITTED], corpus.texts[:FITTED], **parts).model.terms
    shallow = english.build(terms=fitted)
    for k in (1, 5, 40):
        given = {"k": k, "clusters": 1}
        ours, theirs = (
            own.search(corpus.query_vectors, corpus.query_texts, **more, **given)
            for own, more in ((deep, {"per_doc": 2}), (shallow, {}))
        )
        assert (ours.ids == theirs.ids).all()
        np.testing.assert_array_equal(ours.n_scored, theirs.n_scored)
