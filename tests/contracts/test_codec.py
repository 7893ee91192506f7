"""Every codec encodes by its equations, scores its own codes, and handles small samples and odd dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import hi2
import oracle
from hi2.codecs import CODECS

SPECS = [
    hi2.Flat(),
    hi2.PQ(subspaces=4),
    hi2.PQ(subspaces=5, bits=4),
    hi2.PQ(subspaces=6, bits=4, residual=True),
    hi2.OPQ(subspaces=4),
    hi2.OPQ(subspaces=7, residual=True),
    hi2.OPQ(subspaces=8, bits=4),
    hi2.Half(),
    hi2.SQ8(),
    hi2.SQ8(residual=True),
    hi2.RaBitQ(),
    hi2.RaBitQ(residual=True),
    hi2.RaBitQ(bits=4),
    hi2.RaBitQ(bits=3, residual=True, seed=5),
]


def test_every_registered_codec_is_under_contract():
    assert {type(spec).__name__ for spec in SPECS} == set(CODECS)


def decode(codec, codes):
    """Return the vectors that codes decode to, by the oracle."""
    if isinstance(codec.spec, hi2.PQ):
        books = codec.arrays["codebooks"]
        codewords = codes.astype(np.int64)
        if codec.spec.bits == 4:
            codewords = (
                np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), -1)[:, : len(books)].astype(np.int64)
            )
        vectors = oracle.pq_decode(codewords, books)
        rotation = codec.arrays.get("rotation")
        return vectors[:, : codec.dim] if rotation is None else vectors @ rotation.astype(np.float64)
    if isinstance(codec.spec, hi2.SQ8):
        return codec.arrays["middle"] + codes.view(np.int8) * codec.arrays["step"].astype(np.float64)
    if isinstance(codec.spec, hi2.RaBitQ):
        return codec.arrays["middle"] + oracle.rabitq_decode(codes, codec.spec.bits, codec.arrays["signs"])
    if isinstance(codec.spec, hi2.Half):
        return codes.view(np.float16).astype(np.float64)
    return codes.view(np.float32).astype(np.float64)


@pytest.fixture(scope="module", params=SPECS, ids=repr)
def fitted(request, corpus):
    return request.param.fit(corpus.vectors, threads=1)


def test_repr_is_the_spec(fitted):
    assert eval(repr(fitted.spec), dict(CODECS)) == fitted.spec


def test_codes_have_the_stated_size(fitted, corpus):
    codes = fitted.encode(corpus.vectors)
    assert codes.shape == (len(corpus.vectors), fitted.code_bytes)
    expected = {"Flat": 160, "Half": 80, "SQ8": 40}.get(type(fitted.spec).__name__)
    if isinstance(fitted.spec, hi2.RaBitQ):
        expected = fitted.spec.bits * 5 + 4
    if isinstance(fitted.spec, hi2.PQ):
        expected = fitted.spec.subspaces if fitted.spec.bits == 8 else (fitted.spec.subspaces + 1) // 2
    assert fitted.code_bytes == expected


def test_an_index_scores_the_decoded_vectors(fitted, corpus):
    index = hi2.HybridIndex.build(corpus.vectors, terms=None, codec=fitted, clusters=hi2.KMeans(12))
    anchors = index.model.clusters.anchors
    labels = oracle.assign(corpus.vectors, anchors)
    base = anchors[labels].astype(np.float64) if fitted.spec.residual else np.zeros_like(corpus.vectors, np.float64)
    codes = fitted.encode((corpus.vectors - base).astype(np.float32))
    approximations = base + decode(fitted, codes)
    hits = index.search(corpus.query_vectors, k=len(corpus.texts), clusters=12)
    for i, query in enumerate(corpus.query_vectors):
        expected = approximations @ query.astype(np.float64)
        error = 3e-5
        if isinstance(fitted.spec, hi2.RaBitQ):  # rounds the query too, by up to a step per rotated dimension
            error += oracle.rabitq_query_error(query, approximations - base, fitted.spec.bits, fitted.arrays)[
                hits.ids[i]
            ]
        assert (np.abs(hits.scores[i] - expected[hits.ids[i]]) <= error).all()


def test_decoded_vectors_are_nearer_than_the_mean(fitted, corpus):
    codes = fitted.encode(corpus.vectors)
    error = ((corpus.vectors - decode(fitted, codes)) ** 2).sum()
    spread = ((corpus.vectors - corpus.vectors.mean(0)) ** 2).sum()
    assert error < 0.9 * spread


def test_encoding_does_not_depend_on_the_batch_or_the_threads(fitted, corpus):
    together = fitted.encode(corpus.vectors, threads=3)
    alone = np.concatenate([fitted.encode(corpus.vectors[i : i + 1]) for i in range(100)])
    assert (together[:100] == alone).all()


def test_fitting_twice_gives_the_same_arrays(fitted, corpus):
    again = fitted.spec.fit(corpus.vectors, threads=1)
    for name, array in fitted.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize(("n", "dim"), [(1, 8), (2, 8), (17, 9), (300, 11)])
def test_small_corpora_and_odd_dimensions_are_fitted(spec, n, dim):
    vectors = np.random.default_rng(n * dim).standard_normal((n, dim)).astype(np.float32)
    index = hi2.HybridIndex.build(vectors, terms=None, codec=spec)
    hits = index.search(vectors, k=1, clusters=n)
    assert (hits.counts == 1).all()
    if n <= 16 and isinstance(spec, hi2.PQ) and not spec.residual:
        assert (hits.ids[:, 0] == np.argmax(vectors @ vectors.T, axis=1)).all()


@pytest.mark.parametrize("spec", [hi2.SQ8(), hi2.RaBitQ(), hi2.RaBitQ(bits=4)], ids=repr)
@pytest.mark.parametrize("scale", [1e-34, 1e-30, 1.0, 1e15])
def test_the_scale_of_vectors_does_not_change_the_order(spec, scale):
    vectors = np.random.default_rng(0).standard_normal((60, 32)).astype(np.float32)
    plain = hi2.HybridIndex.build(vectors, terms=None, codec=spec).search(vectors[0], clusters=60)
    for documents, query in ((vectors * np.float32(scale), vectors[0]), (vectors, vectors[0] * np.float32(scale))):
        index = hi2.HybridIndex.build(documents, terms=None, codec=spec)
        hits = index.search(query, clusters=60)
        assert len(set(hits.ids.tolist()) & set(plain.ids.tolist())) >= 8
