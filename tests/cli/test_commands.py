"""The commands do what the library does, say it on the right stream, and refuse in one line."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hi2

DOCUMENTS = [
    {"_id": "d1", "title": "Hamlet", "text": "A tragedy by William Shakespeare about a prince of Denmark."},
    {"_id": "d2", "title": "", "text": "How to bake sourdough bread at home with flour, water and salt."},
    {"id": "d3", "text": "Sorting algorithms: quicksort, merge sort and heap sort compared."},
    {"_id": "d4", "text": "The capital of France is Paris, on the river Seine."},
]


def run(*arguments, stdin=None, code=0, environment=None):
    done = subprocess.run(
        [sys.executable, "-m", "hi2.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=stdin,
        check=False,
        env={**os.environ, "COLUMNS": "100", **(environment or {})},
    )
    assert done.returncode == code, done.stderr
    return done


def refused(match, *arguments, **keywords):
    done = run(*arguments, code=2, **keywords)
    assert match in done.stderr
    assert done.stderr.startswith("hi2: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def corpus_file(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS))
    return path


@pytest.fixture
def index(corpus_file, tmp_path):
    run("build", corpus_file, "-o", tmp_path / "a.hi2")
    return tmp_path / "a.hi2"


def test_build_and_search(index):
    found = run("search", index, "bread recipe", "-k", 1, "-f", "jsonl")
    assert json.loads(found.stdout)["hits"][0]["id"] == "d2"
    assert found.stderr == ""
    table = run("search", index, "who wrote the play about a Danish prince", "-k", 2).stdout
    assert "d1" in table
    assert "documents scored" in table
    assert hi2.HybridIndex.open(index).get("d1")["text"].startswith("Hamlet A tragedy")


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.xz", ".tsv", ".parquet"])
def test_every_format_is_read(tmp_path, suffix):
    path = tmp_path / f"c{suffix}"
    lines = "".join(json.dumps(row) + "\n" for row in DOCUMENTS)
    if suffix == ".jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif suffix == ".jsonl.xz":
        path.write_bytes(lzma.compress(lines.encode()))
    elif suffix == ".tsv":
        path.write_text("".join(f"{row.get('_id', row.get('id'))}\t{row['text']}\n" for row in DOCUMENTS))
    else:
        pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
        from pyarrow import parquet

        rows = [{"id": row.get("_id", row.get("id")), "text": row["text"]} for row in DOCUMENTS]
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    run("build", path, "-o", tmp_path / "a")
    assert hi2.HybridIndex.open(tmp_path / "a").ids() == ["d1", "d2", "d3", "d4"]


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


def test_add_delete_merge_info_verify(index, tmp_path):
    (tmp_path / "more.tsv").write_text("d5\tA history of the steam locomotive\nd1\tHamlet again\n")
    refused("upsert", "add", index, tmp_path / "more.tsv")
    assert "5 in" in run("add", index, tmp_path / "more.tsv", "--replace").stdout
    assert "1 documents deleted" in run("delete", index, "d2").stdout
    refused("'d2'", "delete", index, "d2")
    run("delete", index, "d2", "--missing-ok")
    run("merge", index)
    info = json.loads(run("info", index, "--json").stdout)
    assert (info["n_docs"], info["n_segments"], info["n_deleted"]) == (4, 1, 0)
    assert "n_docs" in run("info", index).stdout
    (tmp_path / "q.txt").write_text("steam locomotive\nਪੰਜਾਬੀ\n")
    told = json.loads(run("info", index, "--queries", tmp_path / "q.txt", "--json").stdout)
    assert told["queries"]["n"] == 2
    assert told["queries"]["without_term_list"] == 1
    assert "is whole: 4 documents" in run("verify", index).stdout
    codes = next(index.rglob("codes.npy"))
    data = bytearray(codes.read_bytes())
    data[200] ^= 1
    codes.write_bytes(bytes(data))
    refused("codes.npy", "verify", index)


def test_explain(index):
    assert "found at rank 1" in run("explain", index, "sourdough bread", "d2").stdout
    data = json.loads(run("explain", index, "sourdough bread", "d2", "--json").stdout)
    assert data["outcome"] == "found"
    assert "not in the index" in run("explain", index, "bread", "nobody").stdout


def test_codecs_are_chosen_by_name(corpus_file, tmp_path):
    run("build", corpus_file, "-o", tmp_path / "a", "--codec", "OPQ:16:residual", "--refine", "Flat")
    specs = hi2.HybridIndex.open(tmp_path / "a").model.specs()
    assert specs["codec"] == "OPQ(subspaces=16, bits=8, residual=True)"
    assert specs["refine"] == "Flat()"
    refused("--codec", "build", corpus_file, "-o", tmp_path / "b", "--codec", "zip")


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("{not json", "corpus.jsonl, line 3: not JSON"),
        ('{"text": "no id"}', "corpus.jsonl, line 3: no 'id'"),
        ('{"_id": "x"}', "corpus.jsonl, line 3: no 'text'"),
        ("[1, 2]", "corpus.jsonl, line 3: not an object"),
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path, line, match):
    path = tmp_path / "corpus.jsonl"
    rows = [json.dumps(row) for row in DOCUMENTS]
    path.write_text("\n".join([*rows[:2], line, *rows[2:]]) + "\n")
    refused(match, "build", path, "-o", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    done = run("build", path, "-o", tmp_path / "a", "--skip-bad")
    assert "4 documents" in done.stdout
    assert "1 bad lines skipped" in done.stderr


def test_what_a_build_refuses(corpus_file, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    refused("has none", "build", tmp_path / "empty.jsonl", "-o", tmp_path / "a")
    refused("does not exist", "build", tmp_path / "nothing.jsonl", "-o", tmp_path / "a")
    (tmp_path / "c.doc").write_text("x")
    refused("BEIR folder or", "build", tmp_path / "c.doc", "-o", tmp_path / "a")
    (tmp_path / "twice.tsv").write_text("a\tone\na\ttwo\n")
    refused("'a' in rows 0 and 1", "build", tmp_path / "twice.tsv", "-o", tmp_path / "a")
    (tmp_path / "cut.jsonl.xz").write_bytes(lzma.compress(b'{"id": "a", "text": "b"}\n' * 9)[:-20])
    refused("cut.jsonl.xz, after line", "build", tmp_path / "cut.jsonl.xz", "-o", tmp_path / "a")
    np.save(tmp_path / "v.npy", np.eye(3))
    refused("one entry a vector (3)", "build", corpus_file, "-o", tmp_path / "a", "--vectors", tmp_path / "v.npy")
    (tmp_path / "there").mkdir()
    refused("does not exist yet", "build", corpus_file, "-o", tmp_path / "there")
    assert not (tmp_path / "a").exists()


def test_what_a_search_refuses(index, tmp_path):
    refused("does not exist", "search", tmp_path / "nothing", "x")
    refused("'query'", "search", index, stdin="")
    refused("'k'", "search", index, "x", "-k", 0)
    np.save(tmp_path / "q.npy", np.eye(3))
    refused("dimension 256", "search", index, "x", "--vectors", tmp_path / "q.npy")


def test_debug_shows_the_traceback(tmp_path):
    done = run("--debug", "search", tmp_path / "nothing", "x", code=2)
    assert "Traceback" in done.stderr


def test_help_has_examples_and_a_wrong_option_is_refused():
    assert "quickstart" in run("--help").stdout
    for verb in ("build", "add", "delete", "search", "explain", "info", "verify", "merge"):
        assert f"hi2 {verb}" in run(verb, "--help").stdout
    run("build", "--nonsense", code=2)
    assert hi2.__version__ in run("--version").stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a child")
def test_an_interrupt_leaves_nothing(tmp_path):
    path = tmp_path / "corpus.tsv"
    with path.open("w") as file:
        for i in range(60_000):
            file.write(f"d{i}\tsome words about number {i} and nothing else {'pad ' * 40}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "hi2.cli", "build", str(path), "-o", str(tmp_path / "a")],
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.tsv"]


def test_quickstart_answers():
    done = run("quickstart", "--no-interactive")
    assert "agreement@10" in done.stdout
    assert "reverse" in done.stdout
    assert "zipfile" in done.stdout
    asked = run("quickstart", "--interactive", stdin="parse a json document\n\n")
    assert "json" in asked.stdout.split("Your turn")[1]
