"""``hi2 search``: tables for people, lines for programs, and queries from everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hi2
from commands import DOCUMENTS, refused, run
from hi2.cli.search import load_vectors


def test_build_and_search(index):
    found = run("search", index, "bread recipe", "-k", 1, "-f", "jsonl")
    assert json.loads(found.stdout)["hits"][0]["id"] == "d2"
    assert found.stderr == ""
    table = run("search", index, "who wrote the play about a Danish prince", "-k", 2).stdout
    assert "d1" in table
    assert "documents scored" in table
    assert hi2.HybridIndex.open(index).get("d1")["text"].startswith("Hamlet A tragedy")


def test_a_beir_folder_with_given_vectors(corpus_file, tmp_path):
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float16))
    np.save(tmp_path / "q.npy", np.eye(4)[2:3])
    run("build", corpus_file.parent, "-o", tmp_path / "a", "--vectors", tmp_path / "v.npy")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q7", "text": "zzz"}\n')
    done = run("search", tmp_path / "a", "--queries", tmp_path, "--vectors", tmp_path / "q.npy", "-k", 1, "-f", "trec")
    assert done.stdout == "q7 Q0 d3 1 1.000000 hi2\n"


def test_queries_come_from_standard_input(index):
    done = run("search", index, "-f", "trec", "-k", 1, stdin="paris france\n\nquick sort\n")
    assert [line.split()[:3] for line in done.stdout.splitlines()] == [["1", "Q0", "d4"], ["3", "Q0", "d3"]]


def test_bad_input_of_a_search_is_refused(index, tmp_path):
    refused("does not exist", "search", tmp_path / "nothing", "x")
    refused("'query'", "search", index, stdin="")
    refused("-k must be", "search", index, "x", "-k", 0)
    np.save(tmp_path / "q.npy", np.eye(3))
    refused("dimension 256", "search", index, "x", "--vectors", tmp_path / "q.npy")


def test_square_brackets_are_shown_unchanged(tmp_path):
    """The library that draws tables would treat them as markup."""
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"id": "[b]", "text": "a [/quote] about list[int] bread"}) + "\n")
    run("build", path, "-o", tmp_path / "[bold]")
    shown = run("search", tmp_path / "[bold]", "what is list[int]").stdout
    assert "what is list[int]" in shown
    assert "[b]" in shown
    assert "a [/quote] about list[int] bread" in shown
    assert "[bold]" in run("info", tmp_path / "[bold]").stdout
    latin = run("search", tmp_path / "[bold]", "東京", environment={"PYTHONIOENCODING": "latin-1"}).stdout
    assert "no document is filed" in latin


def test_payload_in_the_input_can_be_filtered(tmp_path):
    rows = [{**own, "payload": {"year": 2000 + i}} for i, own in enumerate(DOCUMENTS)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("build", tmp_path / "docs.jsonl", "-o", tmp_path / "a.hi2")
    (tmp_path / "more.jsonl").write_text(json.dumps({"_id": "d5", "text": "A city", "metadata": {"year": 1900}}))
    run("add", tmp_path / "a.hi2", tmp_path / "more.jsonl")
    found = run("search", tmp_path / "a.hi2", "bread", "--filter", "year < 2001", "-f", "jsonl")
    assert {hit["id"] for hit in json.loads(found.stdout)["hits"]} == {"d1", "d5"}
    refused = run("search", tmp_path / "a.hi2", "bread", "--filter", "year <", code=2)
    assert "at character 7" in refused.stderr
    (tmp_path / "bad.jsonl").write_text(json.dumps({"_id": "d6", "text": "A city", "payload": 3}))
    assert "not an object" in run("add", tmp_path / "a.hi2", tmp_path / "bad.jsonl", code=2).stderr


def test_vectors_of_queries_are_read_as_rows(tmp_path):
    np.save(tmp_path / "one.npy", np.ones(3))
    assert load_vectors(tmp_path / "one.npy").shape == (1, 3)
    (tmp_path / "bad.npy").write_text("no array")
    for name in ("bad.npy", "missing.npy"):
        with pytest.raises(hi2.InvalidParameter, match="--vectors"):
            load_vectors(tmp_path / name)


def test_a_query_is_given_in_one_way_only(index, tmp_path):
    (tmp_path / "q.txt").write_text("bread\n")
    refused("not both", "search", index, "bread", "--queries", tmp_path / "q.txt")


def test_a_query_may_begin_with_a_sign(index):
    plain = json.loads(run("search", index, "40 degrees bread", "-k", 1, "-f", "jsonl").stdout)
    signed = json.loads(run("search", index, "-40 degrees bread", "-k", 1, "-f", "jsonl").stdout)
    assert [hit["id"] for hit in signed["hits"]] == [hit["id"] for hit in plain["hits"]] == ["d2"]
    found = json.loads(run("search", index, "-bread flour water", "-k", 4, "-f", "jsonl", "--words").stdout)
    assert "d2" not in [hit["id"] for hit in found["hits"]]
    assert "d2" in run("explain", index, "-bread water", "d2", "--syntax").stdout
    for text in ("-40", "-- a b", "- 40"):
        assert len(json.loads(run("search", index, text, "-k", 2, "-f", "jsonl").stdout)["hits"]) == 2
    refused("No such option", "search", index, "-x")
