"""``explain`` says which lists made a document a candidate, or why it was not found."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hi2
from hi2 import _native
from hi2.evaluation.collections import open_collection

VECTORS = np.array([[1, 0], [0.9, 0.1], [0, 1], [-1, 0]], np.float32)
TEXTS = ["sqlite database file", "zip archive file", "thread pool worker", "socket network address"]


@pytest.fixture(scope="module")
def index():
    return hi2.HybridIndex.build(
        VECTORS, TEXTS, ids=["db", "zip", "thread", "socket"], clusters=hi2.KMeans(3), terms=hi2.BM25(per_doc=2)
    )


def test_a_found_document_is_explained(index):
    why = index.explain(VECTORS[0], "database", id="db", k=2, clusters=1)
    assert why.outcome == "found"
    assert why.rank == 1
    assert why.dense == why.codec_score == why.exact_score == 1.0
    assert [term.term for term in why.terms] == ["database"]
    assert why.clusters[0].opened
    assert why.clusters[0].place == 1
    assert "found at rank 1" in str(why)
    assert why.to_dict()["terms"][0]["counts"] is True


def test_a_document_in_none_of_the_opened_lists_is_explained(index):
    why = index.explain(VECTORS[0], "database", id="socket", k=2, clusters=1)
    assert why.outcome == "no shared list"
    assert why.rank is None
    assert why.codec_score == -1.0
    assert not why.clusters[0].opened
    assert f"clusters={why.clusters[0].place}" in str(why)
    reached = index.search(VECTORS[0], "database", k=4, clusters=why.clusters[0].place)
    assert "socket" in reached.ids.tolist()  # the advice is right


def test_a_document_that_others_outscore_is_explained(index):
    why = index.explain(VECTORS[0], id="thread", k=1, clusters=3)
    assert why.outcome == "outscored"
    assert why.rank == 3
    assert why.lowest_hit == 1.0
    assert "rank 3" in str(why)


def test_an_id_that_is_not_in_the_index_is_explained(index):
    why = index.explain(VECTORS[0], "database", id="nobody")
    assert why.outcome == "not in the index"
    assert "not in the index" in str(why)


def test_queries_without_terms_and_terms_without_documents_are_explained(index):
    assert "no term" in str(index.explain(VECTORS[0], "", id="db"))
    why = index.explain(VECTORS[0], "elephant database", id="db")
    assert why.unmatched_terms == ("elephant",)
    assert "no document has: elephant." in str(why)


def test_terms_beyond_per_doc_do_not_count(index):
    deep = index.explain(VECTORS[0], "sqlite database file", id="db", clusters=0)
    (second,) = [term for term in deep.terms if term.rank == 1]
    why = index.explain(VECTORS[0], second.term, id="db", clusters=0, per_doc=1, lexical=0)
    assert why.outcome == "no shared list"
    assert not why.terms[0].counts
    assert "beyond per_doc" in str(why)
    rare = index.explain(VECTORS[0], second.term, id="db", clusters=0, per_doc=1)  # where words rank, rare ones do
    assert (rare.outcome, rare.terms[0].counts) == ("found", True)


def test_codec_refine_and_exact_scores_are_reported_separately(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(5), refine=hi2.Flat())
    why = index.explain(corpus.vectors[3], corpus.texts[3], id=corpus.ids[3])
    assert why.exact_score == why.refine_score == pytest.approx(1.0, abs=1e-5)
    assert why.codec_score != why.exact_score
    bare = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(5))
    assert bare.explain(corpus.vectors[3], id=corpus.ids[3]).exact_score is None


def test_a_document_that_was_not_rescored_is_explained(corpus):
    """Its rank is that of the codec, and the text says so."""
    index = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, ids=corpus.ids, codec=hi2.PQ(1, bits=4), refine=hi2.Flat()
    )
    settings = {"k": 5, "clusters": 1000, "lexical": 0}
    kinds = set()
    for vector, text in zip(corpus.query_vectors, corpus.query_texts, strict=True):
        by_codec = index.search(vector, text, **{**settings, "k": len(index)}, refine=0).ids.tolist()
        rescored = index.search(vector, text, **{**settings, "k": 15}, refine=1).ids.tolist()
        for id in (by_codec[2], by_codec[14], by_codec[15], by_codec[200]):
            why = index.explain(vector, text, id=id, refine=3, **settings)
            assert why.rescored == (id in rescored)
            assert why.rank == (rescored.index(id) if id in rescored else by_codec.index(id)) + 1
            assert (why.outcome == "found") == (id in rescored[:5])
            assert ("too low to be rescored" in str(why)) == (id not in rescored)
            if why.larger_k is not None:
                assert id in index.search(vector, text, **{**settings, "k": why.larger_k}, refine=3).ids.tolist()
            assert (why.larger_k is None) == (why.outcome == "found" or not why.rescored)
            kinds.add((why.outcome, why.rescored))
    assert kinds == {("found", True), ("outscored", True), ("outscored", False)}


def test_the_reason_that_no_term_was_opened_is_given(corpus, index):
    clusters_only = hi2.HybridIndex.build(corpus.vectors, terms=None)
    assert "built without terms" in str(clusters_only.explain(corpus.vectors[0], "text", id=0))
    assert "skipped terms" in str(index.explain(VECTORS[0], "database", id="db", terms=0))
    assert "has no text" in str(index.explain(VECTORS[0], id="db"))
    assert "none of its words" in str(index.explain(VECTORS[0], "", id="db"))


def test_explain_agrees_with_search(corpus):
    """The explained outcome matches the search for every setting."""
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)
    index.delete(corpus.ids[::11])
    for i, (vector, text) in enumerate(zip(corpus.query_vectors, corpus.query_texts, strict=True)):
        settings = {"k": 5, "clusters": i % 4, "per_doc": 3 * (i % 5), "budget": 40 if i % 2 else None}
        found = index.search(vector, text, **settings).ids.tolist()
        scored = index.search(vector, text, **{**settings, "k": 5000}).ids.tolist()
        for id in corpus.ids[i::97]:
            why = index.explain(vector, text, id=id, **settings)
            expected = (
                "not in the index"
                if id not in index
                else "found"
                if id in found
                else "outscored"
                if id in scored
                else "no shared list"
            )
            assert why.outcome == expected
            assert why.rank == (scored.index(id) + 1 if id in scored else None)


def test_copies_are_found_without_decoding_every_list(corpus, monkeypatch):
    clusters = hi2.KMeans(20, copies=2, copy_margin=0.3)
    index = hi2.HybridIndex.build(corpus.vectors, ids=corpus.ids, terms=None, clusters=clusters, progress=False)
    segment = index._index.state.snapshot.segments[0].segment
    expected = {id: [] for id in corpus.ids}
    for cluster, doc, _ in zip(*segment.native.copy_postings(), strict=True):
        expected[segment.take_ids(segment.rows[[doc]].astype(np.uint32))[0]].append(int(cluster))
    assert {len(own) for own in expected.values()} >= {0, 1, 2}

    def refuse(_):
        raise AssertionError("every copy was decoded")

    monkeypatch.setattr(_native.Segment, "copy_postings", refuse)
    for id in corpus.ids[::7]:
        why = index.explain(corpus.vectors[0], id=id)
        assert [match.cluster for match in why.clusters if match.copy] == expected[id]


def test_a_list_that_does_not_fit_the_budget_is_named(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, terms=hi2.BM25(per_doc=3))
    words = dict.fromkeys(" ".join(corpus.texts).split())
    given = {"clusters": 0, "lexical": 0}
    answers = [(word, index.search(corpus.vectors[0], word, k=500, **given).ids.tolist()) for word in words]
    short = next((word, held) for word, held in answers if len(held) == 2)
    long = next((word, held) for word, held in answers if len(held) > 4)
    asked = f"{short[0]} {long[0]}"
    outside = next(id for id in reversed(long[1]) if id not in short[1])
    why = index.explain(corpus.vectors[0], asked, id=outside, budget=3, **given)
    assert why.outcome == "no shared list"
    assert [match.opened for match in why.terms] == [False]
    assert "not opened as far as its cluster" in str(why)
    assert "A larger budget would reach it." in str(why)
    assert index.explain(corpus.vectors[0], asked, id=outside, budget=10_000, **given).outcome != "no shared list"

    cut = index.search(corpus.vectors[0], long[0], k=500, budget=1, **given)
    assert cut.n_scored == 1
    beyond = next(id for id in long[1] if id not in cut.ids)
    why = index.explain(corpus.vectors[0], long[0], id=beyond, budget=1, **given)
    assert why.outcome == "no shared list"
    assert "A larger budget would reach it." in str(why) or "The budget ended before it was reached" in str(why)


def test_the_advice_is_right_within_a_budget(corpus):
    """The setting that an explanation recommends makes the document a candidate."""
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)
    given = 0
    for i, (vector, text) in enumerate(zip(corpus.query_vectors, corpus.query_texts, strict=True)):
        settings = {"clusters": 1 + i % 3, "per_doc": 1 + i % 3, "budget": 5 + 10 * i}
        for id in corpus.ids[i::53]:
            why = index.explain(vector, text, id=id, **settings)
            if why.outcome != "no shared list":
                continue
            given += 1
            changed = {**settings, "budget": 10**6}
            advised = re.search(r"\(clusters=(\d+)\)", str(why))
            if advised:
                changed["clusters"] = int(advised[1])
            assert index.explain(vector, text, id=id, **changed).outcome != "no shared list", str(why)
    assert given > 50


def parts(why):
    """What the words of an explanation add to the score."""
    return sum(word.score for word in why.words) + why.punctuation


@pytest.mark.parametrize("tokenizer", ["english", "wordpiece"])
@pytest.mark.parametrize("refine", [None, hi2.SQ8()])
def test_both_parts_of_the_score_are_those_of_the_hits(corpus, tokenizer, refine):
    terms = hi2.BM25(tokenizer=tokenizer)
    codec = hi2.Flat() if refine is None else hi2.PQ(5)
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids, terms=terms, codec=codec, refine=refine)
    added = 0
    for vector, text in zip(corpus.query_vectors[:20], corpus.query_texts, strict=False):
        hits = index.search(2 * vector, f"{text}, unheardof?", k=5)
        for rank, why in enumerate(hits.explain()):
            assert (why.outcome, why.rank, why.rescored) == ("found", rank + 1, True)
            assert why.score == pytest.approx(hits.scores[rank], rel=1e-5)
            assert why.dense == pytest.approx(hits.dense[rank], rel=1e-6)
            assert why.lexical == pytest.approx(hits.lexical[rank], rel=1e-6)
            assert parts(why) == pytest.approx(why.weight * why.lexical, rel=1e-5, abs=1e-7)
            assert why.score == pytest.approx(why.dense + parts(why), rel=1e-5)
            assert {word.word for word in why.words} <= set(re.findall(r"\w+", text)) | {"unheardof"}
            assert [word.score for word in why.words] == sorted((word.score for word in why.words), reverse=True)
            added += sum(word.score > 0 for word in why.words)
            plain = why.to_dict()
            assert plain["words"][0] == {
                "word": why.words[0].word,
                "score": why.words[0].score,
                "part": why.words[0].part,
            }
    assert added > 300


def test_a_search_by_vectors_alone_has_no_words(index):
    why = index.explain(VECTORS[0], "database", id="db", lexical=0)
    assert (why.score, why.dense, why.lexical, why.words) == (1.0, 1.0, None, ())
    assert "adds" not in str(why)


def test_hits_of_words_alone_are_explained(index):
    hits = index.search(None, "a database file", k=1)
    (why,) = hits.explain()
    assert (why.outcome, why.rank) == ("found", 1)
    assert 1 <= why.n_scored <= 4
    assert why.score == why.lexical == pytest.approx(float(hits.scores[0]), rel=1e-6)
    assert why.dense is None
    assert [word.word for word in why.words] == ["database", "file"]
    assert parts(why) == pytest.approx(why.score, rel=1e-6)
    assert "by words alone" in str(why)
    assert "cluster" not in str(why)
    assert "no document has: a." in str(why)
    second = index.explain(None, "a database file", id="zip", k=1)
    assert (second.outcome, second.rank, second.larger_k) == ("outscored", 2, 2)
    assert "k=2 finds it" in str(second)
    other = index.explain("a database file", id="socket")  # this index has no encoder
    assert (other.outcome, other.rank, other.score) == ("no shared word", None, 0.0)
    assert "none of the query's words" in str(other)
    batch = index.search(None, ["database", "thread pool"], k=1)
    assert [batch[i].explain(0).id for i in (0, 1)] == ["db", "thread"]


@pytest.fixture(scope="module")
def index_of_many(documents):
    vectors, texts, payload = documents
    return hi2.HybridIndex.build(vectors, texts, payload=payload, progress=False)


@pytest.fixture(scope="module")
def many():
    """Documents that differ in one word, and in their vectors."""
    random = np.random.default_rng(3)
    vectors = random.standard_normal((400, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"common words of every text and number{i} of them" for i in range(400)]
    return vectors, texts


@pytest.mark.parametrize("refine", [None, hi2.Half()])
def test_a_document_whose_words_were_not_read_is_explained(many, refine):
    vectors, texts = many
    codec = hi2.Flat() if refine is None else hi2.SQ8()
    index = hi2.HybridIndex.build(vectors, texts, codec=codec, refine=refine, clusters=hi2.KMeans(4))
    query, text = vectors[0], "common words of them"
    settings = {"clusters": 4, "lexical": 0.5}
    read = index.search(query, text, k=112, **settings).ids.tolist()[:100]
    kinds = set()
    for id in range(0, 400, 7):
        why = index.explain(query, text, id=id, k=3, **settings)
        every = index.search(query, text, k=400, **settings).ids.tolist()
        assert why.rank is not None
        kinds.add((why.outcome, why.rescored))
        if id in read:
            assert why.rescored
        assert "refine" not in str(why).split("\n- ")[0]
        if why.outcome == "found":
            assert why.larger_k is None
            continue
        assert id in index.search(query, text, k=why.larger_k, **settings).ids.tolist(), str(why)
        assert f"k={why.larger_k}" in str(why)
        if not why.rescored:
            assert why.rank > why.n_candidates == 112
            assert "the words of only the best 112 count" in str(why)
            assert abs(every.index(id) + 1 - why.rank) < 40  # all texts have these words
    assert kinds == {("found", True), ("outscored", True), ("outscored", False)}


def test_the_rank_before_words_are_read_is_where_reading_would_begin(many):
    """One fewer candidate, and the words of the document are not read."""
    vectors, texts = many
    index = hi2.HybridIndex.build(vectors, texts, clusters=hi2.KMeans(4))
    for id in (5, 50, 105, 230):
        why = index.explain(vectors[0], "common words", id=id, clusters=4, k=1)
        if why.rescored:
            continue
        smallest = next(k for k in range(101, 401) if k + k // 8 >= why.rank)
        assert index.explain(vectors[0], "common words", id=id, clusters=4, k=smallest).rescored
        assert not index.explain(vectors[0], "common words", id=id, clusters=4, k=smallest - 1).rescored


def test_words_without_a_list_are_too_common_or_unknown():
    names = ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st", "uv", "wx")
    texts = [f"cells {name} {name}{name} {name}s1 s2{name} stem" for name in names]
    vectors = np.eye(len(texts), dtype=np.float32)
    for bags in (True, False):
        index = hi2.HybridIndex.build(vectors, texts, terms=hi2.BM25(per_doc=2), bags=bags)
        why = index.explain(vectors[0], "Stem cells: ab, cd and elephants.", id=0)
        assert why.common_terms == ("Stem", "cells")
        assert why.unmatched_terms == ("and", "elephants")
        assert "too common, no document is filed under: Stem, cells." in str(why)
        assert "no document has: and, elephants." in str(why)
    index = hi2.HybridIndex.build(vectors, texts, terms=hi2.BM25(per_doc=2))
    index.delete([1])
    assert "cd" in index.explain(vectors[0], "ab cd", id=0).unmatched_terms
    index.add(vectors[1:2], ["cd cd"], ids=[70])
    assert "cd" not in index.explain(vectors[0], "ab cd", id=0).unmatched_terms


def test_a_word_that_others_are_filed_under_is_named():
    texts = ["alpha beta gamma delta epsilon zeta river", "river", "river river", "alpha", "beta", "gamma"]
    texts += ["river river", "a river", "the river"] * 3
    vectors = np.eye(len(texts), dtype=np.float32)
    index = hi2.HybridIndex.build(vectors, texts, terms=hi2.BM25(per_doc=1))
    why = index.explain(vectors[0], "river", id=0)
    assert why.unfiled_terms == ("river",)
    assert why.words[0].score > 0
    assert "filed under its best terms only: river" in str(why)
    long = index.explain(vectors[0], "river alpha beta gamma", id=1, terms=3)
    assert long.query_terms == ("alpha", "beta", "gamma")
    assert long.skipped_terms == ("river",)
    assert "not among the best 3 terms of the query: river" in str(long)


def test_a_document_that_a_rare_word_admits_is_explained_by_it():
    """A document is filed under its best words only, but a question for any rare word of it finds it."""
    texts = [" ".join(f"u{i}x{j}" for j in range(40)) for i in range(60)]
    vectors = np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors, texts, terms=hi2.BM25(per_doc=2))
    for last in range(37, 40):
        far = -vectors[7]
        why = index.explain(far, f"u7x{last}", id=7, clusters=1)
        assert not any(cluster.opened for cluster in why.clusters)
        assert (why.outcome, why.common_terms) == ("found", ())
        filed = [match.term for match in why.terms]
        assert filed + list(why.noted_terms) == [f"u7x{last}"]
        if why.noted_terms:
            assert f"it is a candidate by its rare words: u7x{last}." in str(why)
        assert index.explain(far, f"u7x{last}", id=8, clusters=1).noted_terms == ()
    assert any(index.explain(far, f"u7x{last}", id=7).noted_terms for last in range(37, 40))
    assert index.explain(far, "u7x39", id=7, clusters=1, lexical=0).noted_terms == ()


def test_every_document_that_was_scored_is_explained_as_scored(data_folder):
    """Whatever admitted it: a cluster, a list, or a rare word; with words and without."""
    folder = data_folder / "scifact"
    if not (folder / "minilm").is_dir():
        pytest.skip("scifact with its vectors is not in HI2_DATA")
    source = open_collection(folder)
    texts = [document.text for document in source.documents()]
    vectors = np.load(folder / "minilm" / "corpus.npy").astype(np.float32)
    queries = np.load(folder / "minilm" / "queries.npy").astype(np.float32)
    index = hi2.HybridIndex.build(vectors, texts, codec=hi2.Flat())
    asked = list(source.queries().values())
    for query in (0, 21):
        for text in (asked[query], None):
            for given in ({}, {"lexical": 0.0}, {"per_doc": 3}):
                hits = index.search(queries[query], text, k=200, **given)
                scored = index.search(queries[query], text, k=10, **given).n_scored
                every = set(index.search(queries[query], text, k=scored, **given).ids.tolist())
                ids = hits.ids.tolist()
                for id in ids[11:200:17]:
                    why = index.explain(queries[query], text, id=id, k=10, **given)
                    assert why.outcome in ("found", "outscored")
                outside = [id for id in range(0, len(texts), 211) if id not in every]
                for id in outside:
                    why = index.explain(queries[query], text, id=id, k=10, **given)
                    assert why.outcome == "no shared list"
                    assert not any(cluster.opened for cluster in why.clusters)
                    assert not any(match.counts and match.opened for match in why.terms)


def test_pieces_and_punctuation_are_not_reasons():
    texts = ["immaterial things.", "what is a serial?", "some words, and others"]
    index = hi2.HybridIndex.build(np.eye(3, dtype=np.float32), texts, terms=hi2.BM25(tokenizer="wordpiece"))
    for id in range(3):
        why = index.explain(np.eye(3, dtype=np.float32)[0], "Immaterial, isn't it?", id=id)
        named = [*(word.word for word in why.words), *why.query_terms, *why.unmatched_terms, *why.common_terms]
        assert {"Immaterial"} <= set(named) <= {"Immaterial", "isn", "t", "it"}
        assert "##" not in str(why)
        assert "','" not in str(why)
    found = index.explain(np.eye(3, dtype=np.float32)[0], "Immaterial, isn't it?", id=0)
    assert (found.words[0].word, found.words[0].part) == ("Immaterial", False)
    asked = index.explain(np.eye(3, dtype=np.float32)[0], "Immaterial, isn't it?", id=1)
    assert asked.punctuation > 0
    assert "punctuation" in str(asked)


def test_a_document_with_a_part_of_a_word_does_not_have_the_word():
    texts = ["immaterial things", "im", "others"]
    vectors = np.eye(3, dtype=np.float32)
    index = hi2.HybridIndex.build(vectors, texts, terms=hi2.BM25(tokenizer="wordpiece"))
    assert index.model.terms.tokenizer.tokens("immaterial") == ["im", "##mate", "##rial"]
    why = index.explain(vectors[0], "immaterial", id=1)
    assert why.words[0].part
    assert why.terms[0].part
    assert "part of 'immaterial'" in str(why)
    assert not index.explain(vectors[0], "immaterial", id=0).words[0].part


def test_the_order_of_two_documents_is_explained(corpus):
    index = hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)
    for vector, text in zip(corpus.query_vectors[:10], corpus.query_texts, strict=False):
        hits = index.search(vector, text, k=8)
        first, last = hits.ids[0], hits.ids[7]
        why = index.explain(vector, text, id=last, against=first, k=8)
        differs = why.comparison
        assert (why.id, differs.id, differs.ahead, differs.reason) == (last, first, first, "score")
        assert differs.score == pytest.approx(hits.scores[7] - hits.scores[0], abs=1e-6)
        by_words = sum(word.score for word in differs.words) + differs.punctuation
        assert differs.score == pytest.approx(differs.dense + by_words, abs=1e-6)
        assert differs.other.rank == 1
        assert f"{first!r} is ahead of {last!r} by {-differs.score:.4f}: vectors {-differs.dense:+.4f}" in str(why)
        other = index.explain(vector, text, id=first, against=last, k=8).comparison
        assert (other.ahead, other.score) == (first, pytest.approx(-differs.score))
        assert why.to_dict()["comparison"]["other"]["rank"] == 1


def test_against_a_document_that_was_not_ranked(index):
    why = index.explain(VECTORS[0], "database", id="db", against="socket", clusters=1)
    assert (why.comparison.ahead, why.comparison.reason) == ("db", "not ranked")
    assert "'socket' was not scored" in str(why)
    assert index.explain(VECTORS[0], id="db", against="nobody").comparison.ahead == "db"
    with pytest.raises(hi2.InvalidParameter, match=r"'against'.*another document"):
        index.explain(VECTORS[0], id="db", against="db")


def test_signed_words_that_keep_a_document_out_are_named(index):
    vector = VECTORS[0]
    why = index.explain(vector, "file +sqlite +pool -archive -worker", id="zip", syntax=True)
    assert why.outcome == "filtered out"
    assert (why.missing_words, why.excluded_words) == (("sqlite", "pool"), ("archive",))
    assert "the required words 'sqlite', 'pool' and it has the excluded word 'archive'" in str(why)
    assert "'db' was found" in str(index.explain(vector, "+file -archive", id="db", syntax=True))
    unknown = index.explain(vector, "+elephant", id="db", syntax=True)
    assert unknown.missing_words == ("elephant",)
    by_words = index.explain(None, "file -archive", id="zip", syntax=True)
    assert (by_words.outcome, by_words.excluded_words) == ("filtered out", ("archive",))
    assert index.explain("file -archive", id="zip", syntax=True).excluded_words == ("archive",)
    assert index.explain(None, "file -archive", id="zip").outcome == "found"  # signs are text without syntax=True


def test_a_repeated_word_with_a_sign_is_read_once():
    texts = ["im sure im here", "other"]
    index = hi2.HybridIndex.build(np.eye(2, dtype=np.float32), texts, terms=hi2.BM25(tokenizer="wordpiece"))
    why = index.explain(None, "+im-im +im-im sure", id=1, syntax=True)
    assert why.missing_words == ("im-im",)


def test_a_document_that_a_filter_leaves_out_is_explained(documents, index_of_many):
    vectors, texts, _ = documents
    hits = index_of_many.search(vectors[0], texts[0], k=3, filter="year == 2001")
    why = hits.source.explain(0, 0)
    assert why.outcome == "filtered out"
    assert "the filter leaves it out" in str(why)


def test_documents_that_a_filtered_search_did_not_score_are_explained():
    """What a filter makes a search open is what the explanation is about, however many documents pass."""
    random = np.random.default_rng(5)
    vectors = random.standard_normal((12_000, 8)).astype(np.float32)
    index = hi2.HybridIndex.build(
        vectors, payload=[{"n": i % 2} for i in range(12_000)], terms=None, codec=hi2.Flat(), clusters=hi2.KMeans(40)
    )
    hits = index.search(vectors[0], k=5, clusters=12, filter="n == 0")
    assert not hits.complete
    assert 1500 < hits.n_scored < 6000  # so many that to ask for all of them would score everything
    found = [hits.source.explain(0, id) for id in range(0, 12_000, 200)]
    assert {why.outcome for why in found} == {"outscored", "no shared list"}
    scored = [why.clusters[0].place for why in found if why.outcome == "outscored"]
    assert max(scored) < min(why.clusters[0].place for why in found if why.outcome == "no shared list")


def test_explanations_of_a_real_collection(data_folder):
    folder = data_folder / "scifact"
    if not (folder / "minilm").is_dir():
        pytest.skip("scifact with its vectors is not in HI2_DATA")
    source = open_collection(folder)
    ids, texts = (list(part) for part in zip(*((d.id, d.text) for d in source.documents()), strict=True))
    vectors = np.load(folder / "minilm" / "corpus.npy").astype(np.float32)
    queries = np.load(folder / "minilm" / "queries.npy").astype(np.float32)
    index = hi2.HybridIndex.build(vectors, texts, ids=ids, codec=hi2.Flat())
    asked = list(source.queries().values())
    for query in range(0, len(asked), 97):
        hits = index.search(queries[query], asked[query], k=10)
        for rank, why in enumerate(hits.explain()):
            assert (why.rank, why.score) == (rank + 1, pytest.approx(float(hits.scores[rank]), rel=1e-5))
            assert parts(why) == pytest.approx(why.weight * float(hits.lexical[rank]), rel=1e-4, abs=1e-6)
        alone = index.search(None, asked[query], k=3)
        assert [why.rank for why in alone.explain()] == [1, 2, 3]
    text = "Do stem cells, with zzyzx, repair hearts?"
    why = index.search(queries[0], text, k=1).explain(0)
    assert "cells" in why.common_terms
    assert why.unmatched_terms == ("zzyzx",)
