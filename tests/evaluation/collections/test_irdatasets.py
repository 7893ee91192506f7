"""Datasets of ir_datasets are read by their ids."""

from __future__ import annotations

import pytest

import hi2
from collection_files import write
from hi2.evaluation.collections import open_collection


def test_ir_datasets_by_id(tmp_path, monkeypatch):
    """A dataset of local files is registered with ir_datasets and read through it."""
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra 'lab'")
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    write(tmp_path, {"docs.tsv": "d1\tone\nd2\ttwo\n", "queries.tsv": "q1\tfirst\n", "qrels.txt": "q1 0 d2 1\n"})
    here = [LocalDownload(tmp_path / name) for name in ("docs.tsv", "queries.tsv", "qrels.txt")]
    dataset = ir_datasets.Dataset(TsvDocs(here[0]), TsvQueries(here[1]), TrecQrels(here[2], {1: "relevant"}))
    write(
        tmp_path,
        {"more.tsv": "q2\tsecond\n", "more.txt": "q2 0 d1 1\n", "bad.txt": "q9 0 d1 1\n", "none.txt": "q2 0 d1 0\n"},
    )
    more = {name: LocalDownload(tmp_path / name) for name in ("more.tsv", "more.txt", "bad.txt", "none.txt")}
    for name, file in (
        ("mine/train", "more.txt"),
        ("bad/test", "bad.txt"),
        ("none/test", "none.txt"),
        ("alone", "more.txt"),
    ):
        beside = ir_datasets.Dataset(
            TsvDocs(here[0]), TsvQueries(more["more.tsv"]), TrecQrels(more[file], {1: "relevant"})
        )
        monkeypatch.setitem(ir_datasets.registry._registered, name, beside)
    monkeypatch.setitem(ir_datasets.registry._registered, "mine/test", dataset)
    collection = open_collection("mine/test")
    assert collection.splits == ["test", "train"]
    assert collection.judgements("train").relevant("q2") == ["d1"]
    assert open_collection("alone").queries() == {"q2": "second"}
    with pytest.raises(hi2.InvalidParameter, match="the query 'q9' does not exist"):
        open_collection("bad/test").judgements("test")
    with pytest.raises(hi2.InvalidParameter, match="the split is empty"):
        open_collection("none/test").judgements("test")
    assert [(d.id, d.text) for d in collection.documents()] == [("d1", "one"), ("d2", "two")]
    assert collection.queries() == {"q1": "first", "q2": "second"}
    assert collection.judgements("test").relevant("q1") == ["d2"]
    with pytest.raises(hi2.InvalidParameter, match="an id that ir_datasets knows"):
        open_collection("no/such")
