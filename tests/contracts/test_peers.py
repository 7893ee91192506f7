"""Every compared system builds, answers queries and lists its settings in the same way."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

import hi2
from hi2.evaluation.peers import PEERS
from hi2.evaluation.peers.trained import Trained

pytestmark = pytest.mark.slow

EXTRAS = {"usearch": "usearch", "ScaNN": "scann"} | dict.fromkeys(
    ["BM25", "DocT5", "BM25 rescored", "LADR", *(name for name in PEERS if "(BM25," in name)], "bm25s"
)
EXTRAS |= dict.fromkeys(["DeepCT", "UniCOIL", "DistilSPLADE"], "seismic")


def weights(text):
    counts = Counter(text.lower().split())
    length = sum(n * n for n in counts.values()) ** 0.5
    return {word: n / length for word, n in counts.items()}


def trained(method, corpus, folder):
    """Save the parts of a short training. The supervised index accepts any parts with terms."""
    pytest.importorskip("torch", reason="needs the extra 'train'")
    from hi2.training import Settings, distill

    settings = Settings(method="light" if method == "hi2" else method, epochs=1, batch=8, depth=20)
    given = {"query_vectors": corpus.query_vectors, "clusters": hi2.KMeans(8), "settings": settings, "progress": False}
    codec = None if method == "ivf" else hi2.PQ(32)
    distill(corpus.vectors, corpus.texts, list(corpus.query_texts), codec=codec, **given).save(folder)
    return folder


@pytest.fixture(scope="module", params=list(PEERS))
def built(request, corpus, tmp_path_factory):
    name = request.param
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{name} needs the extra 'lab'")
        pytest.importorskip("Stemmer", reason=f"{name} needs the extra 'lab'")
    folder = tmp_path_factory.mktemp("peer")
    given = ()
    if name == "DocT5":
        (folder / "expansions.txt").write_text("\n".join(" ".join(t.split()[:5]) for t in corpus.texts))
        given = (folder / "expansions.txt",)
    elif issubclass(PEERS[name], Trained):
        given = (trained(PEERS[name].method, corpus, folder / "parts"),)
    elif PEERS[name].needs:
        lines = (json.dumps({"id": i, "vector": weights(t)}) for i, t in enumerate(corpus.texts))
        (folder / "documents.jsonl").write_text("\n".join(lines))
        given = (folder / "documents.jsonl", {text: weights(text) for text in [*corpus.query_texts, *corpus.texts]})
    peer = PEERS[name](*given)
    peer.build(corpus.vectors, corpus.texts, threads=2)
    return peer


def test_every_setting_gives_distinct_documents(built, corpus):
    settings = built.sweep()
    assert settings
    for setting, fewest in (
        (settings[0], 0),
        (settings[-1], 1),
    ):  # at the first setting the only list opened may be empty
        for vector, text in zip(corpus.query_vectors[:5], corpus.query_texts[:5], strict=True):
            rows = built.search(vector, text, 10, setting)
            rows = rows[rows >= 0]
            assert fewest <= len(rows) <= 10
            assert len(set(rows.tolist())) == len(rows)
            assert ((rows >= 0) & (rows < len(corpus.texts))).all()


def test_its_size_and_cost_are_reported(built, corpus):
    assert built.n_bytes > len(corpus.texts)
    scored = built.count_scored(corpus.query_vectors[0], corpus.query_texts[0], 10, built.sweep()[-1])
    assert scored is None or scored > 0


def test_its_best_setting_finds_a_document_by_itself(built, corpus):
    """A document's own vector and text are the query; the document must be among the first ten hits."""
    rows = range(0, len(corpus.texts), 40)
    found = [row in built.search(corpus.vectors[row], corpus.texts[row], 10, built.sweep()[-1]) for row in rows]
    assert np.mean(found) > 0.8


def test_bm25_finds_nothing_for_a_query_without_known_words(corpus):
    pytest.importorskip("bm25s", reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    peer = PEERS["BM25"]()
    peer.build(corpus.vectors, corpus.texts, threads=1)
    assert len(peer.search(corpus.vectors[0], "zzzxqj", 10, {})) == 0


@pytest.mark.parametrize("name", ["DocT5", "DistilSPLADE"])
def test_inputs_that_do_not_match_the_corpus_are_refused(name, corpus, tmp_path):
    pytest.importorskip(EXTRAS[name], reason="needs the extra 'lab'")
    pytest.importorskip("Stemmer", reason="needs the extra 'lab'")
    path = tmp_path / "given"
    path.write_text('{"id": 1, "vector": {"a": 1}}\n')
    peer = PEERS[name](*((path,) if name == "DocT5" else (path, {})))
    with pytest.raises(hi2.InvalidParameter, match=f"1 (lines|vectors) for {len(corpus.texts)} documents"):
        peer.build(corpus.vectors, corpus.texts, threads=1)
    if name != "DocT5":
        path.write_text('{"id": 1}\n')
        with pytest.raises(hi2.InvalidParameter, match="line 1: expected an id and a vector"):
            peer.build(corpus.vectors, corpus.texts, threads=1)
