"""Any input gives a defined result, or an error that names the argument, the value and what to do."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hi2
from hi2.state.profile import Profile
from hostile_values import inside_itself, nested, values


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
        (r"'vectors'.*shape \(n, dim\).*\(4,\)", (V[0], T), {}),
        (r"'vectors'.*at least one dimension", (np.zeros((4, 0)), T), {}),
        (r"'vectors'.*finite.*row 2", (np.where(np.arange(4)[:, None] == 2, np.nan, V), T), {}),
        (r"'vectors'.*finite.*row 1", (np.where(np.arange(4)[:, None] == 1, np.inf, V), T), {}),
        (r"'vectors'.*finite", (V.astype(np.float64) * 1e300, T), {}),
        (r"'vectors'.*real numbers.*complex", (V.astype(complex), T), {}),
        (r"'vectors'.*real numbers", (np.array([["a"]]), ["x"]), {}),
        (r"'vectors'.*make no array|'vectors'.*shape", ([[1.0, 2.0], [3.0]], T[:2]), {}),
        (r"'vectors'.*\.npy", ("no_such_file.npy", T), {}),
        (r"no documents.*'vectors' of shape", (iter([]), []), {}),
        (r"'vectors'.*up to 1e\+16.*row 0", (V * 1e17, T), {}),
        (r"'vectors'.*one dim.*batch 0", (iter([np.zeros((4, 0))]), T), {}),
        (r"'vectors'.*one dim.*batch 1", (iter([V, np.eye(3)]), T), {}),
        (r"'texts'.*one entry per vector \(4\).*Got 3", (V, T[:3]), {}),
        (r"'texts'.*one entry per vector \(4\).*Got 5", (V, [*T, "x"]), {}),
        (r"'texts'.*given", (V,), {}),
        (r"'texts'.*a single string", (V, "abcd"), {}),
        (r"'texts'.*one string per document.*Got 5", (V, 5), {}),
        (r"'texts'.*one string per document.*object", (V, object()), {}),
        (r"'texts'.*strings.*int in row 1", (V, ["a", 1, "b", "c"]), {}),
        (r"'texts'.*valid Unicode.*row 3", (V, ["a", "b", "c", "\ud800"]), {}),
        (r"'ids'.*one entry per vector", (V, T), {"ids": [1, 2]}),
        (r"'ids'.*unique.*'x' in rows 1 and 3", (V, T), {"ids": ["a", "x", "b", "x"]}),
        (r"'ids'.*unique.*7 in rows 0 and 2", (V, T), {"ids": [7, 1, 7, 2]}),
        (r"'ids'.*all strings or all integers", (V, T), {"ids": ["a", 1, 2, 3]}),
        (r"'ids'.*all strings or all integers", (V, T), {"ids": [1, "a", 2, 3]}),
        (r"'ids'.*all strings or all integers.*1\.5", (V, T), {"ids": [1.5, 2, 3, 4]}),
        (r"'ids'.*from 0.*-1 in row 0", (V, T), {"ids": [-1, 2, 3, 4]}),
        (r"'ids'.*from 0", (V, T), {"ids": [2**63, 2, 3, 4]}),
        (r"'ids'.*single string", (V, T), {"ids": "abcd"}),
        (r"'ids'.*Unicode", (V, T), {"ids": ["a", "b", "\udc00", "d"]}),
        (r"'ids'.*a sequence of ids.*Got 5", (V, T), {"ids": 5}),
        (r"'ids'.*from 0.*a int in row 0", (V, T), {"ids": [10**5000, 2, 3, 4]}),
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
        (r"'payload'.*one mapping per document.*Got 5", (V, T), {"payload": 5}),
        (r"'payload'.*a mapping of columns.*Got 1", (V, T), {"payload": {"a": 1}}),
        (r"'payload'.*deep.*one inside itself in 'a' of row 0", (V, T), {"payload": [inside_itself(dict)] * 4}),
        (
            r"'payload'.*one inside itself in 'x' of row 1",
            (V, T),
            {"payload": [{}, {"x": inside_itself(list)}, {}, {}]},
        ),
        (r"'payload'.*100 deep.*deeper ones in 'x' of row 0", (V, T), {"payload": [{"x": nested(100_000)}] * 4}),
        (r"'payload'.*100 deep.*deeper ones in 'x' of row 0", (V, T), {"payload": [{"x": nested(100)}] * 4}),
        (r"'payload'.*JSON.*row 0", (V, T), {"payload": [{"x": 10**5000}] * 4}),
        (r"'payload'.*JSON.*row 0", (V, T), {"payload": [{"x": np.datetime64("NaT")}] * 4}),
        (r"'keep_text'.*True or False", (V, T), {"keep_text": V}),
        (r"'payload'.*string keys.*1 in 'x' of row 0", (V, T), {"payload": [{"x": [{1: 2}]}] * 4}),
        (r"'payload'.*JSON.*row 0", (V, T), {"payload": [{"x": object()}] * 4}),
        (r"'payload'.*JSON.*row 0", (V, T), {"payload": [{"x": float("inf")}] * 4}),
        (r"'threads'.*at least|'threads'.*from 1", (V, T), {"threads": 0}),
        (r"'term_weights'.*TermWeights", (V, T), {"terms": hi2.BM25(per_doc=3), "term_weights": [{}] * 4}),
        (r"'term_weights'.*given", (V, T), {"terms": hi2.TermWeights()}),
        (r"'term_weights'.*one entry per vector", (V,), {"term_weights": [{}] * 3}),
        (r"'term_weights'.*mapping.*row 0", (V,), {"term_weights": [3] * 4}),
        (r"'term_weights'.*one mapping per document.*Got 5", (V,), {"term_weights": 5}),
        (r"'term_weights'.*finite.*a int in row 0", (V,), {"term_weights": [{"a": 10**5000}] * 4}),
        (r"'term_weights'.*finite.*row 2", (V,), {"term_weights": [{}, {}, {"a": float("nan")}, {}]}),
        (r"'term_weights'.*up to 1e\+30.*row 0", (V,), {"term_weights": [{"a": 1e300}, {}, {}, {}]}),
        (r"'term_weights'.*below 30522", (V,), {"term_weights": [{99999: 1.0}, {}, {}, {}]}),
        (r"'tokenizer'", (V, T), {"terms": hi2.BM25(tokenizer=3)}),
    ],
)
def test_build_rejects(match, arguments, keywords):
    refused(match, build, *arguments, **keywords)


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
        (r"'profile'.*there is none", (np.zeros(40),), {"profile": ["fast"]}),
        (r"'threads'", (np.zeros((2, 40)),), {"threads": 0}),
        (r"'k'.*Got 4611686018427387904", (np.zeros(40),), {"k": 2**62}),
        (r"'k'.*Got a int", (np.zeros(40),), {"k": 10**5000}),
        (r"'k'.*at most 10737418 for 100 queries", (np.zeros((100, 40)),), {"k": 1 << 24}),
        (r"'offset'.*array", (np.zeros(40),), {"offset": np.arange(3)}),
        (r"'min_score'.*Got a int", (np.zeros(40),), {"min_score": 10**5000}),
        (r"'filter'.*makes none", (np.zeros(40),), {"filter": [True, [1, 2]]}),
        (r"'vectors'.*all texts or all vectors.*1 in row 1", (["a", 1],), {}),
        (r"'texts'.*one string per query", (np.zeros((2, 40)), "a"), {}),
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


@pytest.fixture(scope="module")
def tiny():
    """An index with strings as ids, and one with integers, and what they were made of."""
    vectors, texts = np.random.default_rng(0).standard_normal((30, 4)), [f"word{i} river {i % 5}" for i in range(30)]
    payload = [{"n": i, "s": str(i % 3), "t": ["x"]} for i in range(30)]
    make = partial(build, vectors, texts, payload=payload, keep_text=True, codec=hi2.SQ8(), refine=hi2.Half())
    return make(ids=[f"d{i}" for i in range(30)]), make(), vectors, texts


COMPAT = Path(__file__).parent / "compat" / "data" / "v1"
#: Specs whose tokenizers are read faster than the default one.
WORDS = hi2.BM25(tokenizer=hi2.WordTokenizer())
WEIGHTS = hi2.TermWeights(tokenizer=hi2.WordTokenizer())
EFFORT = ["k", "clusters", "terms", "per_doc", "refine", "budget", "adaptive", "lexical"]
FOUND = ["filter", "filters", "min_score", "offset", "group_by", "rerank", "syntax"]
SEARCH = [*EFFORT, "vectors", "texts", "profile", *FOUND]
DOCUMENTS = ["vectors", "texts", "ids", "payload", "term_weights", "keep_text", "threads"]
CALLS = {
    "search": ([*SEARCH, "rerank_depth", "threads"], lambda i, _, v, t: (i.search, {"vectors": v[0], "texts": t[0]})),
    "batch": ([*SEARCH, "rerank_depth", "threads"], lambda i, _, v, t: (i.search, {"vectors": v[:2], "texts": t[:2]})),
    "words alone": (
        [*SEARCH, "rerank_depth", "threads"],
        lambda i, _, v, t: (i.search, {"vectors": None, "texts": t[0]}),
    ),
    "several words alone": (SEARCH, lambda i, _, v, t: (i.search, {"vectors": None, "texts": t[:2]})),
    "signs": (SEARCH, lambda i, _, v, t: (i.search, {"vectors": v[0], "texts": f"+river {t[0]}", "syntax": True})),
    "explain": (
        [*EFFORT, "vector", "text", "id", "against", "syntax"],
        lambda i, _, v, t: (i.explain, {"vector": v[0], "id": "d1"}),
    ),
    "explain 2": (["id"], lambda _, i, v, t: (i.explain, {"vector": v[0], "text": t[0]})),
    "get": (["ids"], lambda i, *_: (i.get, {})),
    "get 2": (["ids"], lambda _, i, *__: (i.get, {})),
    "contains": (["id"], lambda _, i, *__: (lambda id: id in i, {})),
    "parse_ids": (["ids"], lambda _, i, *__: (i.parse_ids, {})),
    "info": (["queries"], lambda i, *_: (i.info, {})),
    "health": (["queries"], lambda i, *_: (i.health, {})),
    "tune": (
        ["queries", "texts", "relevant", "target", "latency", "budget", "k", "name", "threads"],
        lambda i, _, v, t: (i.tune, {"queries": v, "texts": t, "k": 3}),
    ),
    "add": (DOCUMENTS, lambda i, _, v, t: (i.add, {"vectors": v[:2], "texts": t[:2], "ids": ["d0", "d1"]})),
    "upsert": (DOCUMENTS, lambda i, _, v, t: (i.upsert, {"vectors": v[:2], "texts": t[:2], "ids": ["d0", "d1"]})),
    "build": (
        [*DOCUMENTS, "clusters", "terms", "codec", "refine", "bags"],
        lambda *_: (build, {"vectors": V, "texts": T, "terms": WORDS}),
    ),
    "built with": (["metric", "path", "encoder", "progress"], lambda *_: (build, {"vectors": V, "terms": None})),
    "delete": (["ids"], lambda i, *_: (i.delete, {"missing_ok": True})),
    "open": (["path", "mode", "mmap", "encoder", "trust_encoder"], lambda *_: (hi2.HybridIndex.open, {"path": COMPAT})),
    "save": (["path", "progress"], lambda i, *_: (i.save, {"path": COMPAT})),
    "merge": (["progress"], lambda i, *_: (i.merge, {})),
    "parts": (["path"], lambda *_: (hi2.Parts.load, {})),
    "refit": (["parts", "vectors", "texts", "threads"], lambda i, *_: (i.refit, {"parts": COMPAT})),
    "add_profile": (["name", "profile"], lambda i, *_: (i.add_profile, {"name": "a", "profile": Profile()})),
    "encoded": (["x"], lambda *_: (lambda x: build(texts=T, terms=None, encoder=lambda texts: x), {})),
    "one payload": (["x"], lambda *_: (lambda x: build(V[:1], terms=None, payload=[{"x": x}]), {})),
    "one id": (["x"], lambda *_: (lambda x: build(V[:1], terms=None, ids=[x]), {})),
    "one text": (["x"], lambda *_: (lambda x: build(V[:1], [x], terms=WORDS), {})),
    "one weight": (["x"], lambda *_: (lambda x: build(V[:1], terms=WEIGHTS, term_weights=[{"a": x}]), {})),
    "one batch": (["x"], lambda *_: (lambda x: build(iter([x]), terms=None), {})),
    "compared": (["x"], lambda i, _, v, t: (lambda x: i.search(v[0], filter=hi2.column("n") < x), {})),
    "is in": (["x"], lambda i, _, v, t: (lambda x: i.search(v[0], filter=hi2.column("n").isin(x)), {})),
    "hit": (["rank"], lambda i, _, v, t: (i.search(v[0], t[0]).explain, {})),
    "KMeans": (
        [field.name for field in fields(hi2.KMeans)],
        lambda *_: (lambda **own: build(V, terms=None, clusters=hi2.KMeans(**own)), {}),
    ),
    "BM25": (
        [field.name for field in fields(hi2.BM25)],
        lambda *_: (lambda **own: build(V, T, clusters=None, terms=replace(WORDS, **own)), {}),
    ),
    "RaBitQ": (
        [field.name for field in fields(hi2.RaBitQ)],
        lambda *_: (lambda **own: build(V, terms=None, codec=hi2.RaBitQ(**own)), {}),
    ),
    "PQ": (
        [field.name for field in fields(hi2.PQ)],
        lambda *_: (lambda **own: build(V, terms=None, codec=hi2.PQ(**{"bits": 4, **own})), {}),
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_any_value_of_any_parameter_is_answered_or_refused_by_an_error_of_ours(tiny, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a value may be taken for a path
    parameters, made = CALLS[name]
    foreign = []
    for parameter in parameters:
        for kind, value in values().items():
            call, given = made(*tiny)
            try:
                call(**{**given, parameter: value})
            except hi2.Error as error:
                if not str(error) or len(str(error)) > 3000:
                    foreign.append((parameter, kind, len(str(error))))
            except Exception as error:
                foreign.append((parameter, kind, repr(error)[:200]))
    assert not foreign


def test_a_payload_may_be_a_hundred_deep():
    index = build(V, T, payload=[{"x": nested(98)}] * 4)
    assert index.get(0)["payload"] == {"x": nested(98)}
    shared = ["tag"]
    assert build(V, T, payload=[{"a": shared, "b": [shared, shared]}] * 4).get(0)["payload"]["b"] == [shared, shared]


def test_huge_search_parameters_work(index, corpus):
    hits = index.search(corpus.vectors[0], corpus.texts[0], k=10**6, clusters=10**12, terms=10**12, per_doc=10**12)
    assert len(hits) == len(index)
    batch = index.search(corpus.vectors[:1], corpus.texts[:1], k=len(index) + 5)
    assert batch.ids.shape == (1, len(index) + 5)


@pytest.fixture(scope="module")
def pieces(corpus):
    """An index by BERT's WordPiece, which has special tokens."""
    terms = hi2.BM25(tokenizer="wordpiece")
    return hi2.HybridIndex.build(corpus.vectors[:200], corpus.texts[:200], terms=terms)


@pytest.mark.parametrize("tokenizer", ["index", "pieces"])
@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "\U0010ffff", "[CLS] [SEP] [UNK]", "ㅤ" * 50])
def test_a_query_without_known_tokens_opens_only_clusters(request, corpus, text, tokenizer):
    if tokenizer == "index" and "SEP" in text:
        text = "[hippopotamus] [zzz]"  # brackets are not special to words
    index = request.getfixturevalue(tokenizer)
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


def test_an_index_of_one_document_works():
    index = hi2.HybridIndex.build(np.array([[1.0, 2.0]]), ["one document"])
    assert index.search(np.array([1.0, 0.0]), "document").ids.tolist() == [0]
    index.verify()


def test_opening_something_that_is_not_an_index_is_an_error(tmp_path):
    with pytest.raises(hi2.FormatError, match="no such folder"):
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
