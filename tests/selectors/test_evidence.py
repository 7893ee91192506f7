"""Words are worth BM25 of counts, or the weights that were given, on the scale of dense scores."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import filing
import hi2
import oracle
from hi2.search.effort import DEFAULT_LEXICAL
from hi2.selectors.evidence import DenseScale, Evidence, count_evidence, weight_evidence
from hi2.selectors.learned import TermScorer
from hi2.selectors.terms import LearnedTerms, fit_terms
from hi2.text.bags import Bags
from hi2.text.tokenizer import Tokenizer

SCALE = DenseScale(0.5, 0.25, np.zeros(3, np.float32))
NUMBERS = {"alpha": 0.82, "beta": 0.68, "dense": SCALE}


def bags_of(rows, dtype=np.uint32):
    """Bags of mappings of term to value; a document's length is the sum of its values."""
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    terms = np.array([term for row in rows for term in row], np.uint32)
    values = np.array([value for row in rows for value in row.values()], dtype)
    lengths = np.array([min(sum(row.values()), 2**32 - 1) for row in rows], np.uint32)
    return Bags(offsets, terms, values, lengths)


def test_statistics_of_counted_terms():
    evidence = count_evidence(bags_of([{0: 2, 3: 1}, {3: 5}, {}, {1: 1, 3: 1}]), 6, **NUMBERS)
    assert evidence.df.tolist() == [1, 1, 0, 3, 0, 0]
    assert (evidence.n_docs, evidence.average_length, evidence.unit) == (4, 10 / 4, 0)
    bags = bags_of([{0: 7}])
    assert evidence.counts(bags) is bags
    assert evidence.native is evidence.native
    assert evidence.native.ranks(np.arange(8, dtype=np.uint32)).tolist() == [1, 2, 3, 0, 4, 5, 6, 7]
    assert count_evidence(bags_of([]), 2, **NUMBERS).average_length == 0


def test_weights_are_stored_as_units_of_a_twelfth_of_a_large_weight():
    rows = [{0: 6.0, 1: 0.1}, {0: 2.0, 2: 0.01}]
    evidence = weight_evidence(bags_of(rows, np.float32), 3, np.float32([4.0, 0.1, 0.01]), dense=SCALE)
    assert evidence.unit == pytest.approx(5.4 / 12)  # one weight in twenty is larger
    stored = evidence.counts(bags_of(rows, np.float32))
    assert stored.values.tolist() == [13, 1, 4, 1]  # at least one
    # One weight that is far above all others does not make them equal.
    rows = [{0: 1000.0}, *({1: 0.01 * i} for i in range(1, 51))]
    evidence = weight_evidence(bags_of(rows, np.float32), 2, np.float32([1000.0, 0.25]), dense=SCALE)
    assert len(set(evidence.counts(bags_of(rows, np.float32)).values.tolist())) > 12
    assert stored.values.dtype == np.uint32
    assert stored.terms.tolist() == [0, 1, 0, 2]
    none = weight_evidence(bags_of([{}, {}], np.float32), 3, np.zeros(3, np.float32), dense=SCALE)
    assert none.unit > 0  # so that the bags of documents added later are weights too
    assert none.counts(bags_of([{1: 1e30}], np.float32)).values.tolist() == [2**31 - 1]


def test_weights_beyond_all_units_can_be_added():
    """Where no document that was fitted has a weight, the unit is tiny."""
    index = weighed(term_weights=[{}] * 4)
    index.add(np.ones((2, 4)), ids=[7, 8], term_weights=[{"red": 1.0}, {"red": 1e30, "blue": 1e-3}])
    assert sorted(index.search(None, "red").ids.tolist()) == [7, 8]
    assert index.search(np.ones(4), "blue red", k=9, clusters=9).lexical.max() > 0


def test_the_numbers_are_json_data():
    evidence = count_evidence(bags_of([{0: 2}]), 1, **NUMBERS)
    data = json.loads(json.dumps(evidence.to_json()))
    scale = {"spread": 0.5, "cosine_spread": 0.25}
    bm25 = {"alpha": 0.82, "beta": 0.68, "average_length": 2.0, "unit": 0.0}
    assert data == {"n_docs": 1, "noted": 0, "rare": 0, **bm25, **scale}
    assert set(data) == {*Evidence.COUNTS, *Evidence.NUMBERS}


def test_the_spread_is_that_of_dense_scores_for_queries_of_length_one(corpus):
    vectors = 3 * corpus.vectors[:200]
    vectors[7] = 0
    scale = DenseScale.of(vectors, vectors)
    assert scale.spread == pytest.approx(oracle.spread(vectors), rel=1e-5)
    assert DenseScale.of(5 * vectors, vectors).spread == pytest.approx(scale.spread, rel=1e-5)
    longer = DenseScale.of(vectors, 5 * vectors)
    assert longer.spread == pytest.approx(5 * scale.spread, rel=1e-5)
    assert longer.cosine_spread == pytest.approx(scale.cosine_spread, rel=1e-5)
    np.testing.assert_allclose(longer.center, scale.center, rtol=1e-4, atol=1e-6)
    assert DenseScale.of(vectors[7:8], vectors).spread == 0
    assert DenseScale.of(vectors[:0], vectors).spread == 0


def test_a_build_measures_the_spread_on_a_sample(corpus):
    model = filing.model_of(corpus)
    assert len(corpus.ids) > 256  # more than are asked
    assert model.evidence.spread == pytest.approx(oracle.spread(corpus.vectors), rel=0.05)
    assert filing.model_of(corpus).evidence.spread == model.evidence.spread


def test_a_fitted_selector_keeps_its_evidence(corpus):
    """The scores of documents stay comparable wherever its parts are used."""
    terms = filing.model_of(corpus).terms
    other = hi2.HybridIndex.build(9 * corpus.vectors[:50], corpus.texts[:50], terms=terms)
    assert other.model.evidence is terms.evidence
    assert terms.evidence.df is terms.df  # stored once
    bare = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], terms=terms, bags=False)
    assert bare.model.evidence is None
    again = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], terms=bare.model.terms)
    assert again.model.evidence.n_docs == 50


# -- weights that the caller gives ------------------------------------------------------------------------------------

WEIGHTS = [{"red": 3.0, "green": 0.5}, {"red": 1.0}, {"blue": 2.5, "green": 1.5}, {}]


def weighed(path=None, **changes):
    terms = hi2.TermWeights(tokenizer=changes.pop("tokenizer", "wordpiece"))
    given = {"term_weights": WEIGHTS, "terms": terms, "clusters": hi2.KMeans(1), "path": path, **changes}
    return hi2.HybridIndex.build(np.eye(4, dtype=np.float32) + 1, **given)


@pytest.mark.parametrize("tokenizer", ["wordpiece", "words"])
def test_given_weights_are_the_lexical_part(tokenizer, tmp_path):
    """To half a unit each."""
    index = weighed(tmp_path / "a", tokenizer=tokenizer)
    index.add(np.ones((1, 4)), ids=[7], term_weights=[{"blue": 10.0, "red": 1e-9}])
    index.commit()
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    opened.verify()
    unit = opened.model.evidence.unit
    assert unit == pytest.approx(2.9 / 12)
    query = np.float32([1, 2, 3, 4])
    for text in ("red", "green blue", "red red green blue", "yellow"):
        expected = {
            id: sum(row.get(word, 0) for word in set(text.split()))
            for id, row in zip([0, 1, 2, 3, 7], [*WEIGHTS, {"blue": 10.0}], strict=True)
        }
        hits = opened.search(query, text, k=9, clusters=9)
        assert sorted(hits.ids.tolist()) == [0, 1, 2, 3, 7]
        for id, score, dense, lexical in zip(hits.ids, hits.scores, hits.dense, hits.lexical, strict=True):
            assert lexical == pytest.approx(expected[id], abs=unit * len(set(text.split())))
            words = opened.model.terms.query_terms([text], 0)[3]
            weight = DEFAULT_LEXICAL * opened.model.evidence.spread * opened.model.native.word_weight(query, words)
            assert score == pytest.approx(dense + weight * lexical, rel=1e-5)
        alone = opened.search(None, text)
        best = sorted((id for id in expected if expected[id]), key=lambda id: -expected[id])
        assert [id for id in alone.ids.tolist() if expected[id]] == best


def test_large_numbers_are_stored_and_read_again(tmp_path):
    weighed(tmp_path / "a", term_weights=[{"red": 1e30}, {}, {}, {}]).close()
    hits = hi2.HybridIndex.open(tmp_path / "a").search(np.ones(4), "red", k=1)
    assert (hits.ids.tolist(), hits.lexical[0]) == ([0], pytest.approx(1e30))
    signs = np.sign(np.random.default_rng(0).standard_normal((40, 40)))
    index = hi2.HybridIndex.build(9e15 * signs, ["red"] * 40, path=tmp_path / "b")
    assert index.model.evidence.spread > 1e16
    index.close()
    assert np.isfinite(hi2.HybridIndex.open(tmp_path / "b").search(9e15 * signs[0], "red").scores).all()


@pytest.mark.parametrize("n", [999, 1000])
def test_a_word_of_a_single_document_of_many_counts_twice(n):
    """In fewer documents many a plain word is in one only."""
    documents = [["red", "blue" if i % 2 else "green", "rose" if i < 7 else "lily"] for i in range(n)]
    documents[5].append("ky5120")
    vectors = np.random.default_rng(3).standard_normal((n, 4)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors, [" ".join(words) for words in documents], terms=hi2.BM25(tokenizer="words"))
    words = oracle.Words.fitted(documents)
    weights = {}
    for text in ("red", "rose", "ky5120", "red rose ky5120", "yellow", "red yellow"):
        terms = index.model.terms.query_terms([text], 0)[3]
        weights[text] = index.model.native.word_weight(vectors[0], terms) / words.specificity(text.split())
    np.testing.assert_allclose(list(weights.values()), weights["red"], rtol=1e-4)


# -- terms that a trained scorer chooses ------------------------------------------------------------------------------


@pytest.fixture
def learned(monkeypatch):
    """Terms scored by a table of the tokens: rivers are worth most, and reds less."""
    pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    pytest.importorskip("safetensors", reason="needs the extra 'onnx'")
    from onnx import TensorProto, helper
    from safetensors.numpy import save

    bert = Tokenizer.load(None)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in ("ids", "mask")]
    inputs.append(helper.make_tensor_value_info("table", TensorProto.FLOAT, [bert.n_terms]))
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", "t"])
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["found"]),
        helper.make_node("Cast", ["mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["found", "real"], ["scores"]),
    ]
    graph = helper.make_graph(nodes, "scores", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    table = np.zeros(bert.n_terms, np.float32)
    table[[bert.number("river"), bert.number("red")]] = [3.0, 1.0]
    monkeypatch.setitem(sys.modules, "torch", None)
    config = json.dumps({"transformer": {"model_type": "bert"}, "begin": 101, "end": 102, "max_tokens": 64})
    scorer = TermScorer(config.encode(), save({"table": table}), model.SerializeToString())
    spec = LearnedTerms(per_doc=2, scorer=scorer)
    return fit_terms(spec, spec.bags(bert, TEXTS), bert)


TEXTS = ["the red river river", "a red car", "one river", "the car of the river police", "nothing else"]


def test_learned_terms_choose_lists_and_counted_words_rank(learned, tmp_path):
    vectors = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors[:4], TEXTS[:4], terms=learned, path=tmp_path / "a")
    assert index.model.terms.evidence.unit == 0
    assert index.model.terms.evidence.df is not index.model.terms.df  # the scorer gives most words nothing
    index.add(vectors[4:], TEXTS[4:])
    index.commit()
    index.close()
    opened = hi2.HybridIndex.open(tmp_path / "a")
    opened.verify()
    tokens = opened.model.terms.tokenizer.tokens
    documents = [tokens(text) for text in TEXTS]
    words = oracle.Words.fitted(documents[:4])
    for text in ("car", "the river", "red river else police"):
        expected = [words.score(tokens(text), own) for own in documents]
        hits = opened.search(vectors[0], text, k=9, clusters=9)
        assert sorted(hits.ids.tolist()) == [0, 1, 2, 3, 4]
        beside = [words.score(tokens(text), documents[id]) for id in hits.ids]
        np.testing.assert_allclose(hits.lexical, beside, rtol=1e-5)
        alone = opened.search(None, text)
        np.testing.assert_allclose(alone.scores, sorted((n for n in expected if n), reverse=True), rtol=1e-5)


def test_words_are_counted_where_the_scores_of_terms_are_given(learned):
    """A trainer keeps the scores it made, and a build takes them as they are."""
    vectors = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    weights = [{"river": 0.3}, {"red": 0.1}, {"river": 0.2}, {"river": 0.7}, {}]
    index = hi2.HybridIndex.build(vectors, TEXTS, terms=learned, term_weights=weights)
    assert index.model.evidence.unit == 0
    tokens = index.model.terms.tokenizer.tokens
    documents = [tokens(text) for text in TEXTS]
    words = oracle.Words.fitted(documents)
    hits = index.search(vectors[0], "police car", k=9, clusters=9)
    beside = [words.score(["police", "car"], documents[id]) for id in hits.ids]
    np.testing.assert_allclose(hits.lexical, beside, rtol=1e-5)
    assert index.search(vectors[0], "river", k=9, clusters=0, lexical=0).n_scored == 3
    with pytest.raises(hi2.InvalidParameter, match=r"'texts'.*bags of their words"):
        index.add(vectors[:1], ids=[9], term_weights=[{"red": 1.0}])
    assert len(index) == 5
    without = hi2.HybridIndex.build(vectors, terms=learned, term_weights=weights)
    assert without.model.evidence is None
    without.add(vectors[:1], ids=[9], term_weights=[{"red": 1.0}])
    assert len(without.search(vectors[0], "red", k=9, clusters=9)) == 6
