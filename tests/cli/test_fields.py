"""The command line keeps what it is given: fields become payload, files become passages."""

from __future__ import annotations

import datetime
import json

import pytest

import hi2
from commands import refused
from commands import run as run_command

ROWS = [
    {"_id": "a", "title": "Tea", "text": "how to brew tea", "year": 1999, "author": {"name": "Ada"}, "lang": "en"},
    {"_id": "b", "text": "a horse eats apples", "year": 2001, "metadata": {"shelf": 3}},
]


def run(*arguments):
    return run_command(*arguments).stdout


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def payloads(path):
    return [hi2.HybridIndex.open(path).get(id, {}).get("payload") for id in ("a", "b")]


def test_fields_of_jsonl_become_payload(source, tmp_path):
    run("build", source, "-o", tmp_path / "i")
    assert payloads(tmp_path / "i") == [
        {"year": 1999, "author": {"name": "Ada"}, "lang": "en"},
        {"year": 2001, "shelf": 3},
    ]
    run("build", source, "-o", tmp_path / "j", "--fields", "year, shelf")
    assert payloads(tmp_path / "j") == [{"year": 1999}, {"year": 2001, "shelf": 3}]
    run("build", source, "-o", tmp_path / "k", "--no-payload")
    assert payloads(tmp_path / "k") == [None, None]
    refused("--fields", "build", source, "-o", tmp_path / "l", "--no-payload", "--fields", "year")


def test_columns_of_a_table_become_payload(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    from pyarrow import parquet

    rows = [{"id": "a", "text": "tea", "year": 1999}, {"id": "b", "text": "horse", "year": None}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "c.parquet")
    run("build", tmp_path / "c.parquet", "-o", tmp_path / "i")
    assert payloads(tmp_path / "i") == [{"year": 1999}, {"year": None}]


def test_a_header_of_a_tsv_is_recognised_or_named(tmp_path):
    (tmp_path / "h.tsv").write_text("id\ttitle\ttext\tlang\na\tTea\thow to brew\ten\nb\t\ta horse\t\n")
    run("build", tmp_path / "h.tsv", "-o", tmp_path / "i")
    assert payloads(tmp_path / "i") == [{"lang": "en"}, {}]
    assert hi2.HybridIndex.open(tmp_path / "i").get("a")["text"] == "Tea how to brew"
    (tmp_path / "n.tsv").write_text("a\ten\thow to brew\nb\tde\tein Pferd\n")
    run("build", tmp_path / "n.tsv", "-o", tmp_path / "j", "--header", "id,lang,text")
    assert payloads(tmp_path / "j") == [{"lang": "en"}, {"lang": "de"}]
    refused("--header", "build", tmp_path / "n.tsv", "-o", tmp_path / "k", "--header", "id,lang")
    (tmp_path / "bad.tsv").write_text("id\ttext\na\tx\ty\n")
    refused("the header has 2", "build", tmp_path / "bad.tsv", "-o", tmp_path / "k")


def test_documents_of_another_type_are_refused_or_skipped(source, tmp_path):
    run("build", source, "-o", tmp_path / "i")
    more = [{"_id": "c", "text": "more", "year": 2002}, {"_id": "d", "text": "bad", "year": "new"}]
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in more))
    refused("'year' is a string", "add", tmp_path / "i", tmp_path / "more.jsonl")
    assert len(hi2.HybridIndex.open(tmp_path / "i")) == 2
    assert "1 documents added, 3 in" in run("add", tmp_path / "i", tmp_path / "more.jsonl", "--skip-bad")
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*ROWS, *more]))
    refused("'year' is a string", "build", tmp_path / "mixed.jsonl", "-o", tmp_path / "j")
    assert "3 documents" in run("build", tmp_path / "mixed.jsonl", "-o", tmp_path / "j", "--skip-bad")
    assert "4 documents" in run("build", tmp_path / "mixed.jsonl", "-o", tmp_path / "k", "--free", "year")


def test_what_becomes_plain_data_is_not_skipped(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    from pyarrow import parquet

    for name, ids in (("a", ["a", "b"]), ("c", ["c", "d"])):
        rows = [{"id": id, "text": "tea", "day": datetime.date(2020, 1, 2)} for id in ids]
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    run("build", tmp_path / "a.parquet", "-o", tmp_path / "i", "--skip-bad")
    assert "2 documents added" in run("add", tmp_path / "i", tmp_path / "c.parquet", "--skip-bad")
    rows = [{"_id": str(i), "text": "x", "a": {"b": [1, "y"][i % 2]}, "metadata": {"m": i}} for i in range(4)]
    (tmp_path / "f.jsonl").write_text("".join(json.dumps({**row, "payload": {"p": 1}}) + "\n" for row in rows))
    assert "4 documents" in run("build", tmp_path / "f.jsonl", "-o", tmp_path / "j", "--skip-bad", "--free", "a.b, c")
    assert hi2.HybridIndex.open(tmp_path / "j").get("1")["payload"] == {"a": {"b": "y"}, "m": 1, "p": 1}


def test_hits_are_printed_with_text_and_payload(source, tmp_path):
    run("build", source, "-o", tmp_path / "i")
    line = json.loads(run("search", tmp_path / "i", "what do horses eat", "-k", "1", "-f", "jsonl"))
    assert line["query"] == "what do horses eat"
    hit = line["hits"][0]
    assert (hit["id"], hit["text"], hit["payload"]["shelf"]) == ("b", "a horse eats apples", 3)
    assert hit["score"] > 0
    refused("words", "search", tmp_path / "i", " ")
    refused("words", "search", tmp_path / "i", "")


def test_an_index_is_replaced_only_if_that_is_asked_for(source, tmp_path):
    run("build", source, "-o", tmp_path / "i")
    refused("--overwrite", "build", source, "-o", tmp_path / "i")
    (tmp_path / "one.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    run("build", tmp_path / "one.jsonl", "-o", tmp_path / "i", "--overwrite")
    assert len(hi2.HybridIndex.open(tmp_path / "i")) == 1


def test_quiet_prints_results_only(source, tmp_path):
    assert run("-q", "build", source, "-o", tmp_path / "i") == ""
    (tmp_path / "more.tsv").write_text("c\tmore\n")
    assert run("add", tmp_path / "i", tmp_path / "more.tsv", "-q") == ""
    assert "more" in run("search", tmp_path / "i", "more", "-q", "-f", "jsonl")


def test_files_become_passages(tmp_path):
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / "horse.md").write_text("# Horses\n\nA horse eats apples. " + "It runs far. " * 200)
    (tmp_path / "notes" / "deep" / "tea.html").write_text("<p>Tea is <b>hot</b>.</p><script>no()</script>")
    run("build", "--files", tmp_path / "notes", "-o", tmp_path / "i", "--tokens", "50")
    index = hi2.HybridIndex.open(tmp_path / "i")
    assert len(index) > 10
    best = index.search("hot tea", k=1)[0]
    assert (best.id, best.text, best.payload["document"]) == ("deep/tea.html#0", "Tea is hot.", "deep/tea.html")
    assert len(index.search("horses", k=9, group_by="document")) == 2
    refused("--files", "build", "-o", tmp_path / "j")
    refused("--files", "build", tmp_path / "x.jsonl", "--files", tmp_path / "notes", "-o", tmp_path / "j")
