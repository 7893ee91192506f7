"""``hi2 train`` on an index or a collection: what it writes, and its one-line errors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hi2
from commands import run
from hi2.cli.index_encoder import open_index
from hi2.cli.train import _from_index
from hi2.encoders.registry import load_towers


def test_test_questions_of_a_collection_are_not_trained_on(folder, topics, tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    given = ("--data", folder, "--vectors", folder / "given", "--light", "--batch", 32, "--epochs", 2, "--rate", 0.02)
    done = run("train", *given, "--out", tmp_path / "parts")
    assert "Trained on 299 queries, chosen on 50" in done.stdout
    parts = hi2.Parts.load(tmp_path / "parts")
    assert parts.record["labels"]
    assert parts.record["settings"]["method"] == "light"
    pytest.importorskip("matplotlib", reason="needs the extra 'plots'")
    assert "<svg" in (tmp_path / "parts" / "curve.svg").read_text()
    again = run("train", *given, "--out", tmp_path / "parts", code=2)
    assert "without trained parts" in again.stderr


def test_an_index_is_trained_and_refitted(folder, topics, tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    built = hi2.HybridIndex.build(
        topics.vectors,
        topics.texts,
        ids=[f"d{i}" for i in range(len(topics.texts))],
        clusters=hi2.KMeans(12),
        terms=hi2.BM25(per_doc=2),
        codec=hi2.PQ(4, bits=4),
        keep_text=True,
        progress=False,
    )
    built.save(tmp_path / "a.hi2")
    queries, grades = folder / "queries.jsonl", folder / "qrels" / "train.tsv"
    settings = ("--light", "--batch", 32, "--epochs", 3, "--rate", 0.05)
    common = ("--index", tmp_path / "a.hi2", "--queries", queries, "--vectors", folder / "given", *settings)
    run("train", *common, "--out", tmp_path / "free")
    run("train", *common, "--qrels", grades, "--out", tmp_path / "labelled")
    free, labelled = (hi2.Parts.load(tmp_path / name).record for name in ("free", "labelled"))
    assert (free["labels"], labelled["labels"]) == (False, True)
    assert labelled["n_queries"] + labelled["n_dev"] == 300  # the other queries have no positive
    refitted = hi2.HybridIndex.open(tmp_path / "a.hi2").refit(tmp_path / "free")
    query = topics.queries[0], topics.query_vectors[0]
    topic = topics.topic[topics.positives[0][0]]
    found = refitted.search(query[1], query[0], clusters=0, k=50).ids
    assert sum(topics.topic[int(id[1:])] == topic for id in found) > 6
    assert len(built.search(query[1], query[0], clusters=0, k=50).ids) <= 3


@pytest.mark.filterwarnings("ignore")
def test_vectors_for_training_are_made_by_the_towers_of_the_encoder(tiny, tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    name = f"DPR={tiny.folder / 'documents'},{tiny.folder / 'queries'}"
    towers = load_towers(name)
    texts = ["the river", "a train", "a long sentence"]
    hi2.HybridIndex.build(texts=texts, encoder=towers.documents, keep_text=True, path=tmp_path / "a").close()
    (tmp_path / "q.tsv").write_text("q1\tthe sea\n")
    with open_index(tmp_path / "a", encoder=name, trust_encoder=False) as opened:
        given, refined = _from_index(opened, tmp_path / "q.tsv", None, None)
    assert not refined
    np.testing.assert_allclose(given["vectors"], towers.documents(texts), atol=1e-5)
    np.testing.assert_allclose(given["query_vectors"], towers.queries(["the sea"]), atol=1e-5)
    with (
        pytest.raises(hi2.InvalidParameter, match=r"--encoder must be given: .*TransformerEncoder"),
        open_index(tmp_path / "a", encoder=None, trust_encoder=True) as opened,
    ):
        _from_index(opened, tmp_path / "q.tsv", None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x"], "--data instead"),
        (["--out", "x", "--index", "a.hi2"], "--queries"),
        (["--out", "x", "--data", "nothing", "--method", "magic"], "method"),
        (["--out", "x", "--data", "nothing"], "nothing"),
        (["--out", "x", "--data", "d", "--qrels", "q.tsv"], "--qrels"),
        (["--out", "x", "--data", "d", "--trust-encoder"], "--trust-encoder"),
        (["--out", "x", "--index", "i", "--codec", "PQ"], "--codec"),
        (["--out", "x", "--data", "d", "--light", "--method", "ivf"], "--method"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments, message, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs the extra 'train'")
    monkeypatch.chdir(tmp_path)
    done = run("train", *arguments, code=2)
    assert message in done.stderr
    assert done.stderr.startswith("hi2: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_missing_extra_is_named(tmp_path):
    blocked = "import sys; sys.modules['torch'] = None; sys.argv = ['hi2', 'train', '--data', 'x', '--out', 'y']; "
    done = subprocess.run(
        [sys.executable, "-c", blocked + "from hi2.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "hi2[train]" in done.stderr
