"""A command uses the encoder of ``--encoder``, or the index's own where that is built in or trusted."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import hi2
from commands import DOCUMENTS, refused, run
from hi2.cli.index_encoder import encode_batches, open_index
from hi2.encoders.registry import load_towers

TEXTS = ["the river flows to the sea", "a train", "a long sentence about trains and rivers"]


def build(towers_or_encoder, path, **given):
    hi2.HybridIndex.build(texts=TEXTS, encoder=towers_or_encoder, path=path, **given).close()


def test_without_options_the_index_uses_its_built_in_encoder(tmp_path):
    build(hi2.StaticEncoder(), tmp_path / "a")
    for encoder in (None, "static"):
        with open_index(tmp_path / "a", encoder=encoder, trust_encoder=False) as opened:
            assert opened.index.search(*opened.queries(["train"]), k=1).ids.tolist() == [[1]]
            assert (opened.documents(TEXTS) is None) == (encoder is None)
            assert opened.own_towers().queries(["train"]).shape == (1, 256)


def test_both_options_at_once_and_another_encoder_are_refused(tmp_path):
    build(hi2.StaticEncoder(), tmp_path / "a")
    with (
        pytest.raises(hi2.InvalidParameter, match="--trust-encoder"),
        open_index(tmp_path / "a", encoder="static", trust_encoder=True),
    ):
        pass
    with (
        pytest.raises(hi2.InvalidParameter, match="does not exist"),
        open_index(tmp_path / "b", encoder="static", trust_encoder=False),
    ):
        pass
    build(lambda texts: np.ones((len(texts), 256)), tmp_path / "other")
    with (
        pytest.raises(hi2.InvalidParameter, match=r"--encoder.*<lambda>.*'static', which gives other vectors"),
        open_index(tmp_path / "other", encoder="static", trust_encoder=False),
    ):
        pass


def test_documents_are_encoded_in_batches():
    static = hi2.StaticEncoder()
    texts = [f"text {i}" for i in range(5000)]
    parts = list(encode_batches(static, texts, 256))
    assert [len(part) for part in parts] == [4096, 904]
    np.testing.assert_array_equal(np.concatenate(parts), static(texts))


@pytest.mark.filterwarnings("ignore")
def test_documents_and_queries_use_their_own_towers(tiny, tmp_path):
    """The index stores the identity of the tower of documents, or of queries if the vectors were given."""
    name = f"DPR={tiny.folder / 'documents'},{tiny.folder / 'queries'}"
    towers = load_towers(name)
    build(towers.documents, tmp_path / "by documents")
    hi2.HybridIndex.build(towers.documents(TEXTS), TEXTS, encoder=towers.queries, path=tmp_path / "by queries").close()
    for path in (tmp_path / "by documents", tmp_path / "by queries"):
        with open_index(path, "w", encoder=name, trust_encoder=False) as opened:
            vectors, texts = opened.queries(["the river"])
            np.testing.assert_allclose(vectors, towers.queries(["the river"]), atol=1e-5)
            assert texts == ["the river"]
            (batch,) = opened.documents(["a train"])
            np.testing.assert_allclose(batch, towers.documents(["a train"]), atol=1e-5)
            opened.index.add(opened.documents(["the sea"]), ["the sea"])
            assert opened.index.search(*opened.queries(["the sea"]), k=4).scores.shape == (1, 4)
    swapped = f"DPR={tiny.folder / 'bert'},{tiny.folder / 'bert'}"
    with (
        pytest.raises(hi2.InvalidParameter, match="which gives other vectors"),
        open_index(tmp_path / "by documents", encoder=swapped, trust_encoder=False),
    ):
        pass


@pytest.mark.parametrize("verb", ["search", "explain", "add", "tune", "train"])
def test_every_command_that_needs_the_encoder_has_both_options(verb):
    shown = run(verb, "--help").stdout
    assert "--encoder" in shown
    assert "--trust-encoder" in shown


@pytest.mark.parametrize("verb", ["info", "verify", "delete", "merge", "build", "eval", "experiment", "quickstart"])
def test_no_other_command_asks_for_trust(verb):
    assert "--trust-encoder" not in run(verb, "--help").stdout


def test_a_sentence_transformers_model_is_named_or_trusted(tiny, tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    shutil.copytree(tiny.folder / "bert", tmp_path / "model")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS[:2]))
    run("build", corpus, "-o", tmp_path / "a", "--encoder", tmp_path / "model")
    line = refused("--encoder must be given", "search", tmp_path / "a", "bread").stderr
    assert "--trust-encoder to load what the index names" in line
    (tmp_path / "more.jsonl").write_text(json.dumps(DOCUMENTS[3]) + "\n")
    run("add", tmp_path / "a", tmp_path / "more.jsonl", "--encoder", tmp_path / "model")
    given, trusted = (
        run("search", tmp_path / "a", "the river", "-f", "trec", *option).stdout
        for option in (("--encoder", tmp_path / "model"), ("--trust-encoder",))
    )
    assert given == trusted
    assert "d4" in given
