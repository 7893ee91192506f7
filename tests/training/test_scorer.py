"""A term scorer over a transformer: trained on kept states, carried by an index, and used again by ``add``."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'train'")

import hi2  # noqa: E402
from hi2.codecs import PQ  # noqa: E402
from hi2.progress import Progress  # noqa: E402
from hi2.selectors.clusters import KMeans  # noqa: E402
from hi2.selectors.learned import TermScorer  # noqa: E402
from hi2.selectors.terms import BM25, LearnedTerms  # noqa: E402
from hi2.store.parts import Parts  # noqa: E402
from hi2.text.tokenizer import Tokenizer  # noqa: E402
from hi2.training import Settings, distill  # noqa: E402
from hi2.training.states import Backbone, kept_states  # noqa: E402

FULL = Settings(method="hi2", epochs=30, patience=30, batch=32, rate=0.01, hard=6, lexical=4, depth=40, max_tokens=16)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    """A tiny BERT with the whole vocabulary, on disk."""
    folder = tmp_path_factory.mktemp("bert")
    vocabulary = resources.files("hi2.text").joinpath("bert-base-uncased.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, initializer_range=0.2
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def trained(topics, backbone, folder, settings=FULL, **changes):
    return distill(
        topics.vectors,
        topics.texts,
        topics.queries,
        query_vectors=topics.query_vectors,
        clusters=KMeans(12),
        terms=BM25(per_doc=2),
        codec=PQ(subspaces=4, bits=4),
        settings=settings,
        backbone=backbone,
        folder=folder,
        threads=1,
        progress=False,
        **changes,
    )


@pytest.fixture(scope="module")
def parts(topics, backbone, tmp_path_factory):
    return trained(topics, backbone, tmp_path_factory.mktemp("train"))


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


def reach(topics, index):
    hits = index.search(topics.query_vectors, topics.queries, clusters=0, k=50)
    wanted = [set(np.flatnonzero(topics.topic == topics.topic[p[0]])) for p in topics.positives]
    return np.mean([len(set(ids) & own) / len(own) for ids, own in zip(hits.ids, wanted, strict=True)])


def dense(bags):
    """Scores by row and term; a score of nearly nothing may be nothing."""
    matrix = np.zeros((len(bags), 30522), np.float32)
    matrix[np.repeat(np.arange(len(bags)), np.diff(bags.offsets).astype(int)), bags.terms] = bags.values
    return matrix


def test_a_scorer_succeeds_where_bm25_fails(topics, parts, index):
    assert isinstance(parts.terms.spec, LearnedTerms)
    values = parts.record["curve"]["dev"]["terms"]
    assert min(values) < 0.8 * values[0]
    assert reach(topics, index) > 0.6


def test_the_scorer_that_travels_scores_as_the_one_that_learned(topics, parts):
    """From kept states, and through the whole transformer again; weights travel as float16."""
    again = parts.terms.spec.bags(parts.terms.tokenizer, topics.texts)
    np.testing.assert_allclose(dense(again), dense(parts.weights), rtol=0.02, atol=0.02)
    assert (again.values > 0).all()


def test_onnxruntime_scores_as_torch_does(topics, parts, monkeypatch):
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    scorer = parts.terms.spec.scorer
    fresh = TermScorer(scorer.config, scorer.weights_file, scorer.graph)
    monkeypatch.setattr(fresh, "_by_torch", _absent)
    own = fresh.weights(parts.terms.tokenizer, topics.texts)
    np.testing.assert_allclose(
        dense(own), dense(scorer.weights(parts.terms.tokenizer, topics.texts)), rtol=1e-3, atol=1e-4
    )
    alone = TermScorer(scorer.config, scorer.weights_file)
    monkeypatch.setattr(alone, "_by_torch", _absent)
    with pytest.raises(hi2.MissingExtra, match=r"hi2\[train\]"):
        alone.weights(parts.terms.tokenizer, topics.texts)


def _absent():
    raise ImportError("torch")


def test_a_supervised_index_is_added_to_after_it_was_stored(topics, index, tmp_path):
    index.save(tmp_path / "index")
    with hi2.HybridIndex.open(tmp_path / "index", "w") as stored:
        stored.verify()
        before = stored.search(topics.query_vectors, topics.queries, k=20)
        assert np.array_equal(before.ids, index.search(topics.query_vectors, topics.queries, k=20).ids)
        stored.add(topics.vectors[:3], topics.texts[:3], ids=[5000, 5001, 5002])
        stored.commit()
        found = stored.search(topics.vectors[0], topics.texts[0], k=300, clusters=0).ids
        assert {0, 5000} <= set(found.tolist())  # the same text is filed under the same terms
    reopened = hi2.HybridIndex.open(tmp_path / "index")
    assert len(reopened) == len(topics.texts) + 3
    assert isinstance(reopened.model.terms.spec, LearnedTerms)


def test_an_index_takes_up_trained_parts(topics, parts, tmp_path):
    plain = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=replace(parts.clusters, centroids=parts.clusters.anchors),
        terms=BM25(per_doc=2),
        codec=PQ(subspaces=4, bits=4),
        keep_text=True,
        threads=1,
        progress=False,
    )
    assert reach(topics, plain) < 0.2
    parts.save(tmp_path / "parts")
    before = plain.search(topics.query_vectors, topics.queries, k=10)
    same = parts.codec.encoding_name == plain.model.codec.encoding_name
    refitted = plain.refit(tmp_path / "parts", vectors=None if same else topics.vectors, progress=False)
    assert reach(topics, refitted) > 0.6
    assert refitted.ids() == plain.ids()
    assert refitted.get(5) == plain.get(5)
    assert np.array_equal(plain.search(topics.query_vectors, topics.queries, k=10).ids, before.ids)
    refitted.save(tmp_path / "refitted")
    stored = hi2.HybridIndex.open(tmp_path / "refitted")
    stored.verify()
    assert reach(topics, stored) == reach(topics, refitted)


def test_parts_of_another_index_are_refused(topics, parts):
    def index(**changes):
        given = {
            "clusters": replace(parts.clusters, centroids=parts.clusters.anchors),
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


def test_kept_scores_are_of_the_texts_they_were_made_from(topics, parts):
    """After a change that keeps the count, documents are scored anew and not filed under others' terms."""
    plain = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=replace(parts.clusters, centroids=parts.clusters.anchors),
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


def test_clusters_on_one_side_only_are_refused(topics, parts):
    without = hi2.HybridIndex.build(topics.vectors, topics.texts, clusters=None, keep_text=True, progress=False)
    with pytest.raises(hi2.InvalidParameter, match="with clusters"):
        without.refit(parts, vectors=topics.vectors)


def test_a_model_stored_in_halves_is_used_whole(topics, backbone, tmp_path):
    half = tmp_path / "half"
    transformers.BertModel.from_pretrained(backbone).half().save_pretrained(half)
    transformers.AutoTokenizer.from_pretrained(backbone).save_pretrained(half)
    own = trained(topics, str(half), tmp_path / "out", replace(FULL, epochs=10, patience=10))
    spec = own.terms.spec
    assert isinstance(spec, LearnedTerms)
    np.testing.assert_allclose(
        dense(spec.bags(own.terms.tokenizer, topics.texts)), dense(own.weights), rtol=0.02, atol=0.02
    )


def test_a_full_disk_is_an_error_and_no_signal(topics, backbone, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(hi2.Error, match="No space left"):
        trained(topics, backbone, tmp_path)
    assert not list((tmp_path / "states").glob("*.npy"))


def test_texts_are_needed_where_nothing_is_kept(topics, parts):
    index = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        clusters=replace(parts.clusters, centroids=parts.clusters.anchors),
        codec=parts.codec,
        progress=False,
    )
    unweighed = Parts(parts.model, parts.record)
    with pytest.raises(hi2.InvalidParameter, match="this index keeps none"):
        index.refit(unweighed)
    assert reach(topics, index.refit(unweighed, texts=topics.texts, progress=False)) > 0.6


def test_upper_layers_learn_too(topics, backbone, tmp_path):
    settings = replace(FULL, trainable_layers=1, epochs=6, rate=3e-3)
    own = trained(topics, backbone, tmp_path, settings)
    values = own.record["curve"]["dev"]["terms"]
    assert min(values) < values[0]
    assert isinstance(own.terms.spec, LearnedTerms)
    again = own.terms.spec.bags(own.terms.tokenizer, topics.texts)
    np.testing.assert_allclose(dense(again), dense(own.weights), rtol=0.1, atol=0.1)  # halves, through a layer more


def test_states_are_kept_and_gone_on_with(topics, backbone, tmp_path, monkeypatch):
    loaded = Backbone.load(backbone, Tokenizer.load(None), max_tokens=16, layers=1, trainable=0)
    assert len(loaded.model.encoder.layer) == 1
    whole = kept_states(tmp_path / "whole", topics.texts, loaded, Progress(False))
    lower, calls = Backbone.lower, []

    def interrupted(self, ids, mask):
        calls.append(len(ids))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return lower(self, ids, mask)

    monkeypatch.setattr(Backbone, "lower", interrupted)
    monkeypatch.setattr("hi2.training.states._MARKED_EVERY", 1)
    with pytest.raises(KeyboardInterrupt):
        kept_states(tmp_path / "cut", topics.texts, loaded, Progress(False))
    resumed = kept_states(tmp_path / "cut", topics.texts, loaded, Progress(False))
    assert len(calls) == 3 + 5 - 2  # two of five batches were kept
    assert np.array_equal(resumed.values, whole.values)
    again = kept_states(tmp_path / "cut", topics.texts, loaded, Progress(False))
    assert len(calls) == 6
    assert np.array_equal(again.values, whole.values)


def test_a_model_of_another_vocabulary_is_refused(topics, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "river"]))
    config = transformers.BertConfig(vocab_size=6, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    transformers.BertModel(config).save_pretrained(tmp_path)
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    with pytest.raises(hi2.InvalidParameter, match="vocabulary of the index's tokenizer"):
        trained(topics, str(tmp_path), tmp_path / "out")
    with pytest.raises(hi2.InvalidParameter, match="a local path always works"):
        trained(topics, str(tmp_path / "nothing"), tmp_path / "out2")


def test_too_many_layers_are_refused(backbone):
    for wrong in ({"layers": 3, "trainable": 0}, {"layers": None, "trainable": 3}):
        with pytest.raises(hi2.InvalidParameter, match="layers"):
            Backbone.load(backbone, Tokenizer.load(None), max_tokens=16, **wrong)


def test_a_scorer_begins_alike_whether_or_not_the_teacher_learned_before(topics, backbone, tmp_path):
    brief = replace(FULL, epochs=1, batch=64)
    whole = trained(topics, backbone, tmp_path / "whole", brief, positives=topics.positives)
    assert "adapted" in whole.record
    shutil.copytree(tmp_path / "whole" / "teacher", tmp_path / "late" / "teacher")  # killed before the scorer began
    late = trained(topics, backbone, tmp_path / "late", brief, positives=topics.positives)
    assert late.record["curve"] == whole.record["curve"]
