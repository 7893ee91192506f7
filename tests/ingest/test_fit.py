"""Specs are fitted to a seeded sample of the documents; a fitted part is taken as it is."""

from __future__ import annotations

import numpy as np
import pytest

import filing
import hi2
from hi2.data.vectors import open_vectors
from hi2.ingest.fit import _sample


def test_the_sample_is_seeded_and_read_forwards():
    vectors = open_vectors(np.arange(1000.0)[:, None], metric="inner_product")
    sample = _sample(vectors, 50)[:, 0]
    assert len(np.unique(sample)) == 50
    assert (np.diff(sample) > 0).all()
    np.testing.assert_array_equal(sample, _sample(vectors, 50)[:, 0])
    assert sample.max() > 900  # of all documents, not of the first
    assert _sample(vectors, 1000).shape == _sample(vectors, 5000).shape == (1000, 1)


def test_specs_are_fitted_to_the_documents(corpus):
    documents = filing.read(corpus.vectors, corpus.texts, terms=hi2.BM25())
    model = filing.fit(documents, clusters=hi2.KMeans(7), terms=hi2.BM25(), codec=hi2.PQ(4), refine=hi2.SQ8())
    assert model.dim == corpus.vectors.shape[1]
    assert model.n_clusters == 7
    assert model.terms.n_docs == len(corpus.texts)
    assert model.specs()["codec"] == repr(hi2.PQ(4))
    np.testing.assert_array_equal(
        model.refine.arrays["middle"], hi2.SQ8().fit(corpus.vectors, threads=1).arrays["middle"]
    )


def test_fitted_parts_are_taken_as_they_are(corpus):
    first = filing.model_of(corpus, codec=hi2.PQ(4), refine=hi2.SQ8())
    other = filing.read(corpus.vectors[:30], corpus.texts[:30], terms=first.terms)
    again = filing.fit(other, clusters=first.clusters, terms=first.terms, codec=first.codec, refine=first.refine)
    assert again.clusters is first.clusters
    assert again.terms is first.terms
    assert again.codec is first.codec
    assert again.refine is first.refine
    assert again.fingerprint == first.fingerprint


def test_a_residual_codec_is_fitted_to_differences_from_the_anchors(corpus):
    model = filing.model_of(corpus, codec=hi2.SQ8(residual=True))
    labels, _ = model.clusters.assign(corpus.vectors)
    residuals = corpus.vectors - model.clusters.anchors[labels]
    expected = hi2.SQ8(residual=True).fit(residuals, threads=1)
    for name, array in expected.arrays.items():
        np.testing.assert_allclose(model.codec.arrays[name], array, atol=1e-6)
    with pytest.raises(hi2.InvalidParameter, match="not residual where there are no clusters"):
        filing.model_of(corpus, clusters=None, codec=hi2.SQ8(residual=True))


def test_cosine_fits_to_vectors_of_unit_length(corpus):
    long = filing.read(5 * corpus.vectors, metric="cosine")
    model = filing.fit(long, metric="cosine", codec=hi2.SQ8())
    assert model.metric == "cosine"
    assert np.abs(model.codec.arrays["middle"] + 127 * model.codec.arrays["step"]).max() < 1.2


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"clusters": 5}, r"'clusters'.*KMeans"),
        ({"codec": hi2.PQ}, r"'codec'.*such as Flat\(\)"),
        ({"refine": "SQ8"}, r"'refine'.*such as Flat\(\)"),
    ],
)
def test_what_is_neither_spec_nor_fitted_is_refused(corpus, changes, match):
    with pytest.raises(hi2.InvalidParameter, match=match):
        filing.fit(filing.read(corpus.vectors), **changes)
