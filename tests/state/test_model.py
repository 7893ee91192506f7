"""A model is its fitted parts: as data it is equal, and parts that do not fit each other are refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import filing
import hi2
from hi2.encoders.encoder import EncoderIdentity
from hi2.state.model import Model
from hi2.store.manifest import serialise


def test_a_replaced_tokenizer_is_refused(corpus, tmp_path):
    """Even if its checksum in the manifest is corrected: the terms were made with another tokenizer."""
    terms = hi2.BM25(tokenizer="wordpiece")
    index = hi2.HybridIndex.build(corpus.vectors[:50], corpus.texts[:50], terms=terms, path=tmp_path / "a")
    index.close()
    path = tmp_path / "a" / "model" / "tokenizer.json"
    other = path.read_bytes().replace(b'"lowercase":true', b'"lowercase":null')
    assert other != path.read_bytes()
    path.write_bytes(other)
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    entry = manifest["model"]["files"]["tokenizer.json"]
    entry |= {"sha256": hashlib.sha256(other).hexdigest(), "bytes": len(other)}
    (tmp_path / "a" / "manifest.json").write_bytes(serialise(manifest))
    with pytest.raises(hi2.FormatError, match="not the tokenizer it was built with"):
        hi2.HybridIndex.open(tmp_path / "a")


def test_fitted_parts_of_another_dimension_are_rejected(corpus):
    model = hi2.HybridIndex.build(corpus.vectors, corpus.texts, codec=hi2.PQ(5)).model
    other = np.random.default_rng(0).standard_normal((20, 8)).astype(np.float32)
    with pytest.raises(hi2.InvalidParameter, match=r"'clusters'.*dimension 8.*40"):
        hi2.HybridIndex.build(other, terms=None, clusters=model.clusters)
    with pytest.raises(hi2.InvalidParameter, match=r"'codec'.*dimension 8.*40"):
        hi2.HybridIndex.build(other, terms=None, codec=model.codec)


MODELS = {
    "clusters and terms": {},
    "clusters alone": {"terms": None},
    "terms alone": {"clusters": None},
    "WordPiece": {"terms": hi2.BM25(5, tokenizer="wordpiece")},
    "no bags": {"bags": False},
    "words": {"terms": hi2.BM25(3, gamma=0.9, tokenizer=hi2.WordTokenizer())},
    "refine": {"codec": hi2.PQ(5, bits=4, residual=True), "refine": hi2.SQ8(residual=True)},
    "copies": {"clusters": hi2.KMeans(9, copies=2), "codec": hi2.RaBitQ(bits=2), "refine": hi2.Half()},
    "an encoder": {"encoder": EncoderIdentity("Mine", "folder", (1.0,) * 40), "metric": "cosine"},
}


@pytest.fixture(scope="module", params=MODELS, ids=str)
def model(request, corpus):
    return filing.model_of(corpus, **MODELS[request.param])


def stored(model):
    """The model as it is read from a folder: the description is JSON."""
    description, arrays = model.to_arrays()
    return json.loads(json.dumps(description)), dict(arrays)


def test_a_model_returns_from_its_arrays_as_it_was(model, corpus):
    again = Model.from_arrays(*stored(model))
    assert again.fingerprint == model.fingerprint
    assert again.specs() == model.specs()
    assert again.encoder == model.encoder
    assert (again.evidence is None) == (model.evidence is None)
    if model.evidence is not None:
        assert again.evidence.to_json() == model.evidence.to_json()
        np.testing.assert_array_equal(again.evidence.df, model.evidence.df)
    assert (again.dim, again.metric) == (model.dim, model.metric)
    assert (again.n_clusters, again.n_terms, again.per_doc) == (model.n_clusters, model.n_terms, model.per_doc)
    np.testing.assert_array_equal(again.codec.encode(corpus.vectors), model.codec.encode(corpus.vectors))
    if model.terms is not None:
        for found, expected in zip(
            again.terms.query_terms(corpus.query_texts, 4), model.terms.query_terms(corpus.query_texts, 4), strict=True
        ):
            np.testing.assert_array_equal(found, expected)


def test_every_array_is_needed_and_part_of_the_fingerprint(model):
    description, arrays = stored(model)
    for name, array in arrays.items():
        with pytest.raises(hi2.FormatError):
            Model.from_arrays(description, {other: arrays[other] for other in arrays if other != name})
        if array.dtype == np.float32:
            changed = Model.from_arrays(description, {**arrays, name: np.ascontiguousarray(array * np.float32(0.5))})
            assert changed.fingerprint != model.fingerprint, name


def test_moved_centroids_and_gains_are_stored(corpus):
    model = filing.model_of(corpus)
    anchors = model.clusters.anchors
    clusters = hi2.ClusterSelector(model.clusters.spec, anchors, np.ascontiguousarray(anchors[::-1]))
    gains = np.linspace(0, 1, model.n_terms, dtype=np.float32)
    trained = replace(model, clusters=clusters, terms=replace(model.terms, gains=gains))
    description, arrays = stored(trained)
    again = Model.from_arrays(description, arrays)
    np.testing.assert_array_equal(again.clusters.centroids, anchors[::-1])
    np.testing.assert_array_equal(again.terms.gains, gains)
    assert again.fingerprint == trained.fingerprint != model.fingerprint
    for bad in (gains[:-1], gains.astype(np.float64), np.full_like(gains, np.nan)):
        with pytest.raises(hi2.FormatError, match="term gains"):
            Model.from_arrays(description, {**arrays, "term_gains.npy": bad})


def test_sides_that_are_left_out_count_nothing(corpus):
    clusters = filing.model_of(corpus, terms=None)
    terms = filing.model_of(corpus, clusters=None, terms=hi2.BM25(per_doc=5, tokenizer="wordpiece"))
    assert (clusters.n_clusters, clusters.n_terms, clusters.per_doc) == (4, 0, 0)
    assert (terms.n_clusters, terms.n_terms, terms.per_doc) == (0, 30522, 5)
    assert clusters.specs()["terms"] is None


def test_parts_that_contradict_each_other_are_refused(corpus):
    model = filing.model_of(corpus, codec=hi2.PQ(4, residual=True))
    with pytest.raises(hi2.InvalidParameter, match=r"'codec'.*residual without clusters"):
        replace(model, clusters=None)
    flat = hi2.Flat().fit(corpus.vectors, threads=1)
    with pytest.raises(hi2.InvalidParameter, match=r"'refine'.*residual without clusters"):
        replace(model, clusters=None, codec=flat, refine=model.codec)
    mapped = model.codec.spec.restore(40, {**model.codec.arrays, "query_map": np.eye(40, dtype=np.float32)})
    with pytest.raises(hi2.InvalidParameter, match="score them differently"):
        replace(model, codec=mapped, refine=hi2.SQ8().fit(corpus.vectors, threads=1))


@pytest.mark.parametrize(
    "change",
    [
        {"dim": 39},
        {"dim": "many"},
        {"clusters": {"n_clusters": 0}},
        {"clusters": {"unheard": 1}},
        {"codec": {"type": "Unheard"}},
        {"codec": {}},
        {"terms": {"type": "BM25"}},
        {"encoder": {"name": "x"}},
        {"encoder": {"name": "x", "source": None, "probe": [float("nan")]}},
        {"encoder": {"name": "x", "source": None, "probe": [10**309]}},
        {"dim": 40.0},
        {"dim": True},
        {"metric": "foo"},
        {"metric": ["cosine"]},
    ],
    ids=repr,
)
def test_a_description_that_fits_no_model_is_refused(corpus, change):
    description, arrays = stored(filing.model_of(corpus, codec=hi2.PQ(4)))
    with pytest.raises(hi2.FormatError, match=r"model cannot be read|damaged"):
        Model.from_arrays({**description, **change}, arrays)


@pytest.mark.parametrize(
    "change",
    [{"n_docs": -1}, {"n_docs": "9"}, {"n_terms": 30522.0}]
    + [{"average_length": value} for value in (float("nan"), float("inf"), -1.0, 10**309, None)],
    ids=repr,
)
def test_statistics_of_terms_that_no_collection_has_are_refused(corpus, change):
    description, arrays = stored(filing.model_of(corpus))
    description["terms"] |= change
    with pytest.raises(hi2.FormatError, match=r"model cannot be read|damaged"):
        Model.from_arrays(description, arrays)


def test_a_model_without_a_codec_is_refused(corpus):
    description, arrays = stored(filing.model_of(corpus))
    del description["codec"]
    with pytest.raises(hi2.FormatError, match="no codec"):
        Model.from_arrays(description, arrays)


def test_a_dictionary_of_another_size_is_refused(corpus):
    description, arrays = stored(filing.model_of(corpus))
    other = hi2.WordTokenizer("english")
    other.encode(["three other words"], learn=True)
    with pytest.raises(hi2.FormatError, match=r"its dictionary has 3 words, not \d{4}"):
        Model.from_arrays(description, arrays | other.arrays(3))
