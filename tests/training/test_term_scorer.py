"""A term scorer over a transformer: trained on stored states, stored with an index, and used again by ``add``."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")

import hi2  # noqa: E402
from hi2.codecs import PQ  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.selectors.learned import TermScorer  # noqa: E402
from hi2.selectors.terms import BM25, LearnedTerms  # noqa: E402
from hi2.store.trained_parts import Parts  # noqa: E402
from hi2.training import Settings, distill  # noqa: E402

#: The vocabulary of the backbone.
WORDPIECE = BM25(tokenizer="wordpiece")
FULL = Settings(method="hi2", epochs=30, patience=30, batch=32, rate=0.01, hard=6, lexical=4, depth=40, max_tokens=16)


def train(topics, backbone, folder, settings=FULL, **changes):
    return distill(
        topics.vectors,
        topics.texts,
        topics.queries,
        query_vectors=topics.query_vectors,
        clusters=KMeans(12),
        terms=replace(WORDPIECE, per_doc=2),
        codec=PQ(subspaces=4, bits=4),
        settings=settings,
        backbone=backbone,
        folder=folder,
        threads=1,
        progress=False,
        **changes,
    )


@pytest.fixture(scope="module")
def parts(topics, tiny_bert, tmp_path_factory):
    return train(topics, tiny_bert, tmp_path_factory.mktemp("train"))


@pytest.fixture(scope="module")
def index(topics, parts):
    return hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=parts.clusters,
        terms=parts.terms,
        codec=parts.codec,
        term_weights=parts.term_weights,
        keep_text=True,
        progress=False,
    )


def recall_by_terms(topics, index):
    """The share of the documents of a query's topic that its terms alone find."""
    hits = index.search(topics.query_vectors, topics.queries, clusters=0, k=50)
    targets = [set(np.flatnonzero(topics.topic == topics.topic[p[0]])) for p in topics.positives]
    return np.mean([len(set(ids) & wanted) / len(wanted) for ids, wanted in zip(hits.ids, targets, strict=True)])


def as_matrix(bags):
    """Scores as a matrix (documents, terms); comparisons ignore scores close to zero."""
    matrix = np.zeros((len(bags), 30522), np.float32)
    matrix[np.repeat(np.arange(len(bags)), np.diff(bags.offsets).astype(int)), bags.terms] = bags.values
    return matrix


def test_trained_terms_succeed_where_bm25_fails(topics, parts, index):
    assert isinstance(parts.terms.spec, LearnedTerms)
    values = parts.record["curve"]["dev"]["terms"]
    assert min(values) < 0.8 * values[0]
    assert recall_by_terms(topics, index) > 0.6


def test_the_stored_scorer_scores_as_the_trained_one(topics, parts):
    """One uses stored states, the other the whole transformer with float16 weights."""
    again = parts.terms.spec.bags(parts.terms.tokenizer, topics.texts)
    np.testing.assert_allclose(as_matrix(again), as_matrix(parts.weights), rtol=0.02, atol=0.02)
    assert (again.values > 0).all()


def test_onnxruntime_scores_as_torch_does(topics, parts, monkeypatch):
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    scorer = parts.terms.spec.scorer
    fresh = TermScorer(scorer.config, scorer.weights_file, scorer.graph)
    monkeypatch.setattr(fresh, "_load_with_torch", _absent)
    own = fresh.weights(parts.terms.tokenizer, topics.texts)
    np.testing.assert_allclose(
        as_matrix(own), as_matrix(scorer.weights(parts.terms.tokenizer, topics.texts)), rtol=1e-3, atol=1e-4
    )
    alone = TermScorer(scorer.config, scorer.weights_file)
    monkeypatch.setattr(alone, "_load_with_torch", _absent)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[train\]"):
        alone.weights(parts.terms.tokenizer, topics.texts)


def _absent():
    raise ImportError("torch")


def test_documents_are_added_to_a_stored_index_with_a_scorer(topics, index, tmp_path):
    index.save(tmp_path / "index")
    with hi2.HybridIndex.open(tmp_path / "index", "w") as stored:
        stored.verify()
        before = stored.search(topics.query_vectors, topics.queries, k=20)
        assert np.array_equal(before.ids, index.search(topics.query_vectors, topics.queries, k=20).ids)
        stored.add(topics.vectors[:3], topics.texts[:3], ids=[5000, 5001, 5002])
        stored.commit()
        found = stored.search(topics.vectors[0], topics.texts[0], k=300, clusters=0).ids
        assert {0, 5000} <= set(found.tolist())  # equal texts are filed under the same terms
    reopened = hi2.HybridIndex.open(tmp_path / "index")
    assert len(reopened) == len(topics.texts) + 3
    assert isinstance(reopened.model.terms.spec, LearnedTerms)


def test_an_index_is_refitted_with_trained_parts(topics, parts, tmp_path):
    plain = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=replace(parts.clusters, centroids=parts.clusters.anchors),
        terms=replace(WORDPIECE, per_doc=2),
        codec=PQ(subspaces=4, bits=4),
        keep_text=True,
        threads=1,
        progress=False,
    )
    assert recall_by_terms(topics, plain) < 0.2
    parts.save(tmp_path / "parts")
    before = plain.search(topics.query_vectors, topics.queries, k=10)
    same = parts.codec.encoding_name == plain.model.codec.encoding_name
    refitted = plain.refit(tmp_path / "parts", vectors=None if same else topics.vectors, progress=False)
    assert recall_by_terms(topics, refitted) > 0.6
    assert refitted.ids() == plain.ids()
    assert refitted.get(5) == plain.get(5)
    assert np.array_equal(plain.search(topics.query_vectors, topics.queries, k=10).ids, before.ids)
    refitted.save(tmp_path / "refitted")
    stored = hi2.HybridIndex.open(tmp_path / "refitted")
    stored.verify()
    assert recall_by_terms(topics, stored) == recall_by_terms(topics, refitted)


def test_parts_of_another_index_are_refused(topics, parts):
    def index(**changes):
        given = {
            "clusters": replace(parts.clusters, centroids=parts.clusters.anchors),
            "terms": WORDPIECE,
            "codec": PQ(4, bits=4),
            **changes,
        }
        vectors = given.pop("vectors", topics.vectors)
        return hi2.HybridIndex.build(vectors, topics.texts, progress=False, threads=1, **given)

    with pytest.raises(hi2.InvalidParameter, match="this index's clustering"):
        index(clusters=KMeans(5)).refit(parts)
    with pytest.raises(hi2.InvalidParameter, match="this index's tokenizer"):
        index(terms=BM25(tokenizer=hi2.WordTokenizer())).refit(parts)
    wide = np.pad(topics.vectors, ((0, 0), (0, 16)))
    with pytest.raises(hi2.InvalidParameter, match="dimension 32"):
        index(vectors=wide, clusters=KMeans(5)).refit(parts)
    with pytest.raises(hi2.InvalidParameter, match="vectors"):
        index(codec=PQ(2)).refit(parts)
    with pytest.raises(hi2.InvalidParameter, match=r"one for each of the 288 documents"):
        index(codec=PQ(2)).refit(parts, vectors=topics.vectors[:5])


def test_stored_scores_are_used_only_for_the_texts_they_were_made_from(topics, parts):
    """After a change that keeps the number of documents, they are scored again, not filed under others' terms."""
    plain = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=replace(parts.clusters, centroids=parts.clusters.anchors),
        terms=WORDPIECE,
        codec=parts.codec,
        keep_text=True,
        progress=False,
    )
    plain.delete(0)
    plain.add(topics.vectors[200:201], [topics.texts[200]], ids=[900])
    found = plain.refit(parts, progress=False)
    right = plain.refit(Parts(parts.model, parts.record), texts=plain.texts(), progress=False)
    for vector, text in zip(topics.query_vectors[:20], topics.queries[:20], strict=True):
        same = [index.search(vector, text, clusters=0, k=50).ids.tolist() for index in (found, right)]
        assert same[0] == same[1]


def test_an_index_without_clusters_refuses_parts_with_clusters(topics, parts):
    without = hi2.HybridIndex.build(
        topics.vectors, topics.texts, clusters=None, terms=WORDPIECE, keep_text=True, progress=False
    )
    with pytest.raises(hi2.InvalidParameter, match="with clusters"):
        without.refit(parts, vectors=topics.vectors)


def test_a_model_stored_as_float16_is_used_as_float32(topics, tiny_bert, tmp_path):
    half = tmp_path / "half"
    transformers.BertModel.from_pretrained(tiny_bert).half().save_pretrained(half)
    transformers.AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(half)
    own = train(topics, str(half), tmp_path / "out", replace(FULL, epochs=10, patience=10))
    spec = own.terms.spec
    assert isinstance(spec, LearnedTerms)
    np.testing.assert_allclose(
        as_matrix(spec.bags(own.terms.tokenizer, topics.texts)), as_matrix(own.weights), rtol=0.02, atol=0.02
    )


def test_refitting_needs_texts_if_neither_texts_nor_scores_are_stored(topics, parts):
    index = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=replace(parts.clusters, centroids=parts.clusters.anchors),
        terms=WORDPIECE,
        codec=parts.codec,
        keep_text=False,
        progress=False,
    )
    without_weights = Parts(parts.model, parts.record)
    with pytest.raises(hi2.InvalidParameter, match="this index keeps none"):
        index.refit(without_weights)
    assert recall_by_terms(topics, index.refit(without_weights, texts=topics.texts, progress=False)) > 0.6


def test_upper_layers_are_trained_too(topics, tiny_bert, tmp_path):
    settings = replace(FULL, trainable_layers=1, epochs=6, rate=3e-3)
    parts = train(topics, tiny_bert, tmp_path, settings)
    values = parts.record["curve"]["dev"]["terms"]
    assert min(values) < values[0]
    assert isinstance(parts.terms.spec, LearnedTerms)
    again = parts.terms.spec.bags(parts.terms.tokenizer, topics.texts)
    # Float16 weights through one more layer differ more.
    np.testing.assert_allclose(as_matrix(again), as_matrix(parts.weights), rtol=0.1, atol=0.1)


def test_a_scorer_starts_the_same_whether_the_map_was_learned_now_or_resumed(topics, tiny_bert, tmp_path):
    brief = replace(FULL, epochs=1, batch=64)
    whole = train(topics, tiny_bert, tmp_path / "whole", brief, positives=topics.positives)
    assert "adapted" in whole.record
    # As if the run had been interrupted before the scorer was trained.
    shutil.copytree(tmp_path / "whole" / "teacher", tmp_path / "resumed" / "teacher")
    resumed = train(topics, tiny_bert, tmp_path / "resumed", brief, positives=topics.positives)
    assert resumed.record["curve"] == whole.record["curve"]
