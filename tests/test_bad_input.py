"""Any input gives a defined result, or an error that names the argument, the value and what to do."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hi2
from hi2 import _native


@pytest.fixture(scope="module")
def index(corpus):
    return hi2.HybridIndex.build(corpus.vectors, corpus.texts, ids=corpus.ids)


def refused(match, call, *arguments, **keywords):
    with pytest.raises(hi2.InvalidParameter, match=match) as caught:
        call(*arguments, **keywords)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, hi2.Error)


V = np.eye(4, dtype=np.float32)
T = ["a b", "c d", "e f", "g h"]
build = hi2.HybridIndex.build


@pytest.mark.parametrize(
    ("match", "arguments", "keywords"),
    [
        (r"'vectors'.*at least one document", (np.zeros((0, 4)), []), {}),
        (r"'vectors'.*shape \(n, dim\).*\(4,\)", (V[0], T), {}),
        (r"'vectors'.*at least one dimension", (np.zeros((4, 0)), T), {}),
        (r"'vectors'.*finite.*row 2", (np.where(np.arange(4)[:, None] == 2, np.nan, V), T), {}),
        (r"'vectors'.*finite.*row 1", (np.where(np.arange(4)[:, None] == 1, np.inf, V), T), {}),
        (r"'vectors'.*finite", (V.astype(np.float64) * 1e300, T), {}),
        (r"'vectors'.*real numbers.*complex", (V.astype(complex), T), {}),
        (r"'vectors'.*real numbers", (np.array([["a"]]), ["x"]), {}),
        (r"'vectors'.*make no array|'vectors'.*shape", ([[1.0, 2.0], [3.0]], T[:2]), {}),
        (r"'vectors'.*\.npy", ("no_such_file.npy", T), {}),
        (r"'vectors'.*at least one batch", (iter([]), []), {}),
        (r"'vectors'.*up to 1e\+16.*row 0", (V * 1e17, T), {}),
        (r"'vectors'.*one dim.*batch 0", (iter([np.zeros((4, 0))]), T), {}),
        (r"'vectors'.*one dim.*batch 1", (iter([V, np.eye(3)]), T), {}),
        (r"'texts'.*one entry a vector \(4\).*Got 3", (V, T[:3]), {}),
        (r"'texts'.*one entry a vector \(4\).*Got 5", (V, [*T, "x"]), {}),
        (r"'texts'.*given", (V,), {}),
        (r"'texts'.*a single string", (V, "abcd"), {}),
        (r"'texts'.*strings.*int in row 1", (V, ["a", 1, "b", "c"]), {}),
        (r"'texts'.*valid Unicode.*row 3", (V, ["a", "b", "c", "\ud800"]), {}),
        (r"'ids'.*one entry a vector", (V, T), {"ids": [1, 2]}),
        (r"'ids'.*unique.*'x' in rows 1 and 3", (V, T), {"ids": ["a", "x", "b", "x"]}),
        (r"'ids'.*unique.*7 in rows 0 and 2", (V, T), {"ids": [7, 1, 7, 2]}),
        (r"'ids'.*all strings or all integers", (V, T), {"ids": ["a", 1, 2, 3]}),
        (r"'ids'.*all strings or all integers", (V, T), {"ids": [1, "a", 2, 3]}),
        (r"'ids'.*all strings or all integers.*1\.5", (V, T), {"ids": [1.5, 2, 3, 4]}),
        (r"'ids'.*from 0.*-1 in row 0", (V, T), {"ids": [-1, 2, 3, 4]}),
        (r"'ids'.*from 0", (V, T), {"ids": [2**63, 2, 3, 4]}),
        (r"'ids'.*single string", (V, T), {"ids": "abcd"}),
        (r"'ids'.*Unicode", (V, T), {"ids": ["a", "b", "\udc00", "d"]}),
        (r"'metric'.*'l2'", (V, T), {"metric": "l2"}),
        (r"'clusters' and 'terms'.*both", (V, T), {"clusters": None, "terms": None}),
        (r"'clusters'.*KMeans", (V, T), {"clusters": 8}),
        (r"'terms'.*BM25", (V, T), {"terms": 3}),
        (r"'codec'.*Flat", (V, T), {"codec": "OPQ"}),
        (r"'codec'.*Flat", (V, T), {"codec": hi2.OPQ}),
        (r"'codec'.*residual", (V, T), {"codec": hi2.PQ(2, residual=True), "clusters": None}),
        (r"'subspaces'.*from 1 to 4.*9", (V, T), {"codec": hi2.PQ(9)}),
        (r"'keep_text'", (V,), {"keep_text": True, "terms": None}),
        (r"'payload'.*mapping.*row 1", (V, T), {"payload": [{}, 3, {}, {}]}),
        (r"'payload'.*mapping.*row 3", (V, T), {"payload": [{}, {}, {}]}),
        (r"'payload'.*Got more", (V, T), {"payload": [{}] * 5}),
        (r"'payload'.*string keys.*1 in row 0", (V, T), {"payload": [{"x": [{1: 2}]}] * 4}),
        (r"'payload'.*JSON.*row 0", (V, T), {"payload": [{"x": object()}] * 4}),
        (r"'payload'.*JSON.*row 0", (V, T), {"payload": [{"x": float("nan")}] * 4}),
        (r"'threads'.*at least|'threads'.*from 1", (V, T), {"threads": 0}),
        (r"'term_weights'.*TermWeights", (V, T), {"terms": hi2.BM25(per_doc=3), "term_weights": [{}] * 4}),
        (r"'term_weights'.*given", (V, T), {"terms": hi2.TermWeights()}),
        (r"'term_weights'.*one entry a vector", (V,), {"term_weights": [{}] * 3}),
        (r"'term_weights'.*mapping.*row 0", (V,), {"term_weights": [3] * 4}),
        (r"'term_weights'.*finite.*row 2", (V,), {"term_weights": [{}, {}, {"a": float("nan")}, {}]}),
        (r"'term_weights'.*up to 1e\+30.*row 0", (V,), {"term_weights": [{"a": 1e300}, {}, {}, {}]}),
        (r"'term_weights'.*below 30522", (V,), {"term_weights": [{99999: 1.0}, {}, {}, {}]}),
        (r"'tokenizer'", (V, T), {"terms": hi2.BM25(tokenizer=3)}),
    ],
)
def test_build_rejects(match, arguments, keywords):
    refused(match, build, *arguments, **keywords)


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
        (r"'n_clusters'.*Got 0", hi2.KMeans, {"n_clusters": 0}),
        (r"'copies'", hi2.KMeans, {"copies": -1}),
        (r"'bits'.*4 or 8.*Got 6", hi2.PQ, {"bits": 6}),
        (r"'subspaces'", hi2.OPQ, {"subspaces": 0}),
    ],
)
def test_a_spec_rejects(match, spec, keywords):
    refused(match, spec, **keywords)


@pytest.mark.parametrize(
    ("match", "arguments", "keywords"),
    [
        (r"'vectors'.*dimension 40.*39", (np.zeros(39),), {}),
        (r"'vectors'.*dimension 40.*7", (np.zeros((2, 7)),), {}),
        (r"'vectors'.*finite", (np.full(40, np.nan),), {}),
        (r"'vectors'.*shape", (np.zeros((1, 1, 40)),), {}),
        (r"'vectors'.*shape", (3.0,), {}),
        (r"'k'.*from 1 to 16777216.*Got 0", (np.zeros(40),), {"k": 0}),
        (r"'k'.*Got 1000000000000", (np.zeros(40),), {"k": 10**12}),
        (r"'k'.*Got -1", (np.zeros(40),), {"k": -1}),
        (r"'k'.*1\.5", (np.zeros(40),), {"k": 1.5}),
        (r"'clusters'.*Got -1", (np.zeros(40),), {"clusters": -1}),
        (r"'terms'.*Got -3", (np.zeros(40),), {"terms": -3}),
        (r"'per_doc'.*Got -3", (np.zeros(40),), {"per_doc": -3}),
        (r"'refine'.*Got -3", (np.zeros(40),), {"refine": -3}),
        (r"'budget'.*at least 1.*Got 0", (np.zeros(40),), {"budget": 0}),
        (r"'budget'.*Got 'many'", (np.zeros(40),), {"budget": "many"}),
        (r"'adaptive'.*from 0 to 1. Got 2", (np.zeros(40),), {"adaptive": 2}),
        (r"'profile'.*there is none: tune", (np.zeros(40),), {"profile": "fast"}),
        (r"'threads'", (np.zeros((2, 40)),), {"threads": 0}),
        (r"'texts'.*one string a query", (np.zeros((2, 40)), "a"), {}),
        (r"'texts'.*one string for one vector", (np.zeros(40), ["a"]), {}),
        (r"'texts'.*\(2\).*3", (np.zeros((2, 40)), ["a", "b", "c"]), {}),
        (r"'texts'.*int in row 1", (np.zeros((2, 40)), ["a", 5]), {}),
        (r"'texts'.*Unicode", (np.zeros(40), "\ud800"), {}),
    ],
)
def test_search_rejects(index, match, arguments, keywords):
    refused(match, index.search, *arguments, **keywords)


def test_a_rejected_change_leaves_the_index_unchanged(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:20], corpus.texts[:20], ids=corpus.ids[:20])
    v, t = corpus.vectors[20:22], corpus.texts[20:22]
    refused(r"'ids'.*new; use upsert", index.add, v, t, ids=[corpus.ids[0], "x"])
    refused(r"'ids'.*unique", index.add, v, t, ids=["x", "x"])
    refused(r"'ids'.*type str.*type int", index.add, v, t, ids=[1, 2])
    refused(r"'ids'.*string ids", index.add, v, t)
    refused(r"'vectors'.*dimension 40", index.add, v[:, :3], t, ids=["x", "y"])
    refused(r"'vectors'.*finite", index.add, v * np.nan, t, ids=["x", "y"])
    refused(r"'texts'.*one entry", index.add, v, t[:1], ids=["x", "y"])
    refused(r"'ids'.*given", index.upsert, v, t, ids=None)
    refused(r"'ids'", index.delete, [3.5])
    refused(r"'id'", index.explain, v[0], id=2.5)
    assert index.ids() == corpus.ids[:20]
    index.verify()


def test_huge_search_parameters_work(index, corpus):
    hits = index.search(corpus.vectors[0], corpus.texts[0], k=10**6, clusters=10**12, terms=10**12, per_doc=10**12)
    assert len(hits) == len(index)
    batch = index.search(corpus.vectors[:1], corpus.texts[:1], k=len(index) + 5)
    assert batch.ids.shape == (1, len(index) + 5)


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "\U0010ffff", "[CLS] [SEP] [UNK]", "ㅤ" * 50])
def test_a_query_without_known_tokens_opens_only_clusters(index, corpus, text):
    bare = index.search(corpus.vectors[0], k=5)
    same = index.search(corpus.vectors[0], text, k=5)
    assert same.ids.tolist() == bare.ids.tolist()
    assert same.n_scored == bare.n_scored


def test_a_document_without_tokens_is_filed_under_its_cluster(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:3], ["", "some words", "\x00"], ids=["empty", "words", "zero"])
    assert "empty" in index.search(corpus.vectors[0], k=3).ids.tolist()
    index.verify()
    only = hi2.HybridIndex.build(corpus.vectors[:2], ["", ""])
    assert len(only.search(corpus.vectors[0], "anything", k=2)) == 2
    only.verify()


def test_a_very_long_text_works(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:2], ["word " * 50_000, "x" * 100_000])
    assert len(index.search(corpus.vectors[0], "word " * 10_000, k=2)) == 2


def test_zero_vectors_and_constant_dimensions_work(corpus):
    vectors = np.zeros((300, 8), np.float32)
    vectors[:, 3] = 1
    for codec in (hi2.Flat(), hi2.PQ(2), hi2.OPQ(3), hi2.OPQ(2, residual=True)):
        index = hi2.HybridIndex.build(vectors, terms=None, codec=codec)
        np.testing.assert_allclose(index.search(vectors[0], k=3).scores, 1, atol=1e-5)
    for metric in ("inner_product", "cosine"):
        index = hi2.HybridIndex.build(np.zeros((5, 4)), terms=None, metric=metric)
        assert index.search(np.zeros(4), k=5).scores.tolist() == [0] * 5


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1, 1e20, 1e30])
def test_cosine_does_not_depend_on_vector_length(corpus, scale):
    index = hi2.HybridIndex.build(corpus.vectors[:50] * scale, terms=None, metric="cosine")
    hits = index.search(corpus.vectors[3] * scale, k=1, clusters=100)
    np.testing.assert_allclose(hits.scores, 1, atol=1e-5)


def test_specs_accept_numpy_integers(corpus, tmp_path):
    five = np.int64(5)
    index = hi2.HybridIndex.build(
        corpus.vectors, corpus.texts, clusters=hi2.KMeans(five, seed=five), terms=hi2.BM25(five), codec=hi2.PQ(five)
    )
    index.save(tmp_path / "a")
    assert hi2.HybridIndex.open(tmp_path / "a").model.specs() == index.model.specs()


def test_running_out_of_integer_ids_is_an_error(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:2], corpus.texts[:2], ids=[5, 2**63 - 1])
    refused(r"'ids'.*used up", index.add, corpus.vectors[:1], corpus.texts[:1])


def test_there_are_never_more_clusters_than_documents(corpus):
    index = hi2.HybridIndex.build(corpus.vectors[:7], terms=None, clusters=hi2.KMeans(1000))
    assert index.model.n_clusters == 7


def test_an_index_of_one_document_works():
    index = hi2.HybridIndex.build(np.array([[1.0, 2.0]]), ["one document"])
    assert index.search(np.array([1.0, 0.0]), "document").ids.tolist() == [0]
    index.verify()


def test_fitted_parts_of_another_dimension_are_rejected(corpus):
    model = hi2.HybridIndex.build(corpus.vectors, corpus.texts, codec=hi2.PQ(5)).model
    other = np.random.default_rng(0).standard_normal((20, 8)).astype(np.float32)
    refused(r"'clusters'.*dimension 8.*40", build, other, terms=None, clusters=model.clusters)
    refused(r"'codec'.*dimension 8.*40", build, other, terms=None, codec=model.codec)


def test_opening_something_that_is_not_an_index_is_an_error(tmp_path):
    with pytest.raises(hi2.FormatError, match=r"no manifest\.json"):
        hi2.HybridIndex.open(tmp_path / "nothing")
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(hi2.FormatError, match="not the manifest"):
        hi2.HybridIndex.open(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(hi2.FormatError):
        hi2.HybridIndex.open(tmp_path / "file")
    with pytest.raises(hi2.FormatError):
        hi2.HybridIndex.open(tmp_path, "w")
    assert not (tmp_path / "lock").exists()
    with pytest.raises(hi2.InvalidParameter, match="'mode'"):
        hi2.HybridIndex.open(tmp_path, "a")


def test_the_error_for_a_missing_faiss_names_what_to_install(corpus):
    code = (
        "import sys; sys.modules['faiss'] = None\n"
        "import numpy as np, hi2\n"
        "try: hi2.HybridIndex.build(np.eye(4), terms=None)\n"
        "except hi2.MissingExtra as error: print(error); assert isinstance(error, ImportError)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install faiss-cpu" in run.stdout


# -- native functions: no argument crashes the interpreter -------------------------------------------------------------

arrays = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.binary(max_size=8),
    st.tuples(
        st.sampled_from(["u1", "u4", "u8", "i8", "f4", "f8"]), st.lists(st.integers(0, 5), min_size=0, max_size=3)
    ).map(lambda p: np.arange(int(np.prod(p[1])), dtype=p[0]).reshape(p[1])),
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["pack", "unpack", "encode_lists", "nearest", "count_terms", "top_terms", "sort_strings"]),
    st.data(),
)
def test_native_functions_check_their_arguments(name, data):
    function = getattr(_native, name)
    n = {"pack": 2, "unpack": 3, "encode_lists": 5, "nearest": 4, "count_terms": 3, "top_terms": 4, "sort_strings": 2}[
        name
    ]
    with contextlib.suppress(TypeError, ValueError, hi2.FormatError):
        function(*(data.draw(arrays) for _ in range(n)))


def test_native_search_checks_its_arguments(index, corpus):
    model, segment = index.model.native, index._index.state.snapshot.segments[0].segment.native
    queries, none = corpus.query_vectors[:2], np.zeros(0, np.uint32)
    offsets = np.zeros(3, np.uint64)
    numbers = {"k": 5, "clusters": 1, "terms": 1, "per_doc": 1, "depth": 0}
    good = (model, [(segment, None)], queries, offsets, none, _native.Effort(**numbers), 1)
    _native.search(*good)
    for place, bad in [
        (2, queries[:, :5].copy()),
        (3, np.array([0, 5, 0], np.uint64)),
        (3, np.array([0, 0, 9], np.uint64)),
        (3, np.zeros(2, np.uint64)),
        (5, None),
        (5, 5),
        (1, [(segment, np.zeros(1, np.uint8))]),
        (1, [(3, None)]),
        (1, [segment]),
    ]:
        arguments = list(good)
        arguments[place] = bad
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.search(*arguments)
    benefit = np.zeros(7, np.float32)
    effort = _native.Effort(**numbers, benefit=benefit, cut=-1.0, budget=10)
    weighed = (model, [(segment, None)], queries[0].copy(), none, effort)
    assert len(_native.admission(*weighed)[0]) > 0
    for place, bad in [(2, queries[0, :5].copy()), (1, [segment]), (3, "words"), (4, _native.Effort(**numbers))]:
        arguments = list(weighed)
        arguments[place] = bad
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.admission(*arguments)
    for bad in [
        {"k": 0},
        *({name: -1} for name in numbers),
        {"benefit": np.zeros(6, np.float32)},
        {"benefit": np.full(7, np.nan, np.float32)},
        {"benefit": benefit, "cut": float("nan")},
        {"benefit": benefit, "budget": -1},
        {"cut": -1.0},
        {"budget": 10},
    ]:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            _native.Effort(**{**numbers, **bad})
    with pytest.raises(TypeError):
        _native.Effort(k=5)
    with pytest.raises(ValueError, match="dimension"):
        model.probe_together(queries[:, :5].copy(), 3)
    with pytest.raises(ValueError, match="does not exist"):
        _native.score(model, segment, queries[0].copy(), False, np.array([10**6], np.uint32))
    with pytest.raises(ValueError, match="no refine store"):
        _native.score(model, segment, queries[0].copy(), True, np.array([0], np.uint32))
    other = hi2.HybridIndex.build(corpus.vectors[:9], terms=None, codec=hi2.PQ(5)).model.native
    with pytest.raises(ValueError, match="not this codec's"):
        _native.search(other, *good[1:])
