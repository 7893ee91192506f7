"""Commands do what the library does, write to the right stream, and report an error in one line."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys

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


def test_a_build_reports_the_time_of_every_phase(corpus_file, tmp_path):
    first, phases = run("build", corpus_file, "-o", tmp_path / "b").stdout.splitlines()
    assert "4 documents" in first
    for phase in ("read texts", "fit clusters", "fit terms", "fit codec", "assign clusters", "file documents"):
        assert f"{phase} " in phases


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
    info = json.loads(run("info", index, "--queries", tmp_path / "q.txt", "--json").stdout)
    assert info["queries"]["n"] == 2
    assert info["queries"]["without_term_list"] == 1
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


def test_bad_input_of_a_build_is_refused(corpus_file, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    refused("has none", "build", tmp_path / "empty.jsonl", "-o", tmp_path / "a")
    refused("does not exist", "build", tmp_path / "nothing.jsonl", "-o", tmp_path / "a")
    (tmp_path / "c.doc").write_text("x")
    refused("BEIR folder", "build", tmp_path / "c.doc", "-o", tmp_path / "a")
    (tmp_path / "twice.tsv").write_text("a\tone\na\ttwo\n")
    refused("line 2: the id 'a' is also in", "build", tmp_path / "twice.tsv", "-o", tmp_path / "a")
    (tmp_path / "cut.jsonl.xz").write_bytes(lzma.compress(b'{"id": "a", "text": "b"}\n\n\n')[:-20])
    refused("cut.jsonl.xz, after line", "build", tmp_path / "cut.jsonl.xz", "-o", tmp_path / "a")
    np.save(tmp_path / "v.npy", np.eye(3))
    refused("one entry a vector (3)", "build", corpus_file, "-o", tmp_path / "a", "--vectors", tmp_path / "v.npy")
    (tmp_path / "there").mkdir()
    refused("does not exist yet", "build", corpus_file, "-o", tmp_path / "there")
    assert not (tmp_path / "a").exists()


def test_bad_input_of_a_search_is_refused(index, tmp_path):
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
    for verb in ("quickstart", "build", "add", "delete", "search", "explain", "info", "verify", "merge"):
        assert f"hi2 {verb}" in run(verb, "--help").stdout
    assert hi2.__version__ in run("--version").stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to itself")
@pytest.mark.parametrize("moment", [1, 3, 9])
def test_an_interrupt_leaves_nothing(corpus_file, tmp_path, moment):
    """The signal arrives after the n-th file of the index was written to its temporary folder."""
    script = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores SIGINT
from hi2.store import arrays
from hi2.cli import main
put, files = arrays.FolderSink.put, []
def interrupted(self, name, *rest):
    put(self, name, *rest)
    files.append(self.folder / name)
    if len(files) == {moment}:
        print(all(path.exists() for path in files), flush=True)
        os.kill(os.getpid(), signal.SIGINT)
arrays.FolderSink.put = interrupted
sys.argv = ["hi2", "build", {str(corpus_file)!r}, "-o", {str(tmp_path / "a")!r}]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n"
    assert done.returncode == 2
    assert done.stderr == "hi2: interrupted; nothing half-written was left behind\n"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_quickstart_answers():
    done = run("quickstart", "--no-interactive")
    assert "agreement@10" in done.stdout
    assert "builtins.list.reverse" in done.stdout
    assert "threading.Thread.join" in done.stdout
    assert "zipfile.ZipFile.infolist" in done.stdout
    done = run("quickstart", "--interactive", stdin="parse a [/json] document")  # the input ends without a newline
    assert "json." in done.stdout.split("Your turn")[1]


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


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("x.parquet", b"garbage", "a parquet file"),
        ("x.parquet.gz", b"garbage", "a .parquet file"),
        ("x.jsonl.gz", gzip.compress(b'{"id": 1, "text": "x"}\n' + b"\n" * 9999)[:-9], "cannot be read"),
        ("x.jsonl.gz", b"\x1f\x8b\x08\x00garbage of some length", "can be read"),
        ("x.jsonl", b'{"id": 1, "text": "x"}\n\xff\n', "x.jsonl, line 2: not UTF-8"),
        ("x.jsonl", b'{"id": 1, "text": "x \\ud800"}\n', "x.jsonl, line 1: not valid Unicode"),
        ("x.jsonl", b'{"id": 1, "text": "x"}\n\n{"id": "1", "text": "y"}\n', "x.jsonl, line 3: the id '1' is also in"),
        ("x.jsonl", b'{"id": "", "text": "x"}\n', "line 1: no 'id'"),
        ("x.jsonl", b'{"id": "a", "title": 3, "text": "x"}\n', "line 1: the 'title'"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, name, content, match):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    (tmp_path / name).write_bytes(content)
    refused(match, "build", tmp_path / name, "-o", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_bom_blank_lines_and_an_upper_case_suffix_are_read(tmp_path):
    (tmp_path / "x.JSONL").write_bytes(b'\xef\xbb\xbf{"_id": null, "id": "a", "text": "x"}\r\n\r\n')
    assert "1 documents" in run("build", tmp_path / "x.JSONL", "-o", tmp_path / "b").stdout
    (tmp_path / "x.tsv").write_bytes(b"\xef\xbb\xbfd1\tbread\r\n\n")
    assert "1 documents" in run("build", tmp_path / "x.tsv", "-o", tmp_path / "c").stdout
    assert "found at rank 1" in run("explain", tmp_path / "c", "bread", "d1").stdout


def test_shared_options_are_taken_anywhere_and_usage_errors_are_one_line(index, tmp_path):
    assert run("verify", index, "--quiet").stderr == ""
    refused("--nonsense", "verify", index, "--nonsense")
    refused("spaces", "search", index, "--queries", _spaced(tmp_path), "-f", "trec")
    (tmp_path / "empty.npy").touch()
    refused("--vectors", "search", index, "a query", "--vectors", tmp_path / "empty.npy")
    refused("vectors", "build", tmp_path / "corpus.jsonl", "-o", tmp_path / "z", "--vectors", tmp_path / "empty.npy")
    np.savez(tmp_path / "several.npy.npz", a=np.ones(3))
    (tmp_path / "several.npy.npz").rename(tmp_path / "several.npy")
    refused("vectors", "build", tmp_path / "corpus.jsonl", "-o", tmp_path / "z", "--vectors", tmp_path / "several.npy")
    refused("OPQ", "build", tmp_path / "corpus.jsonl", "-o", tmp_path / "z", "--codec", "OPQ:²")


def _spaced(folder):
    path = folder / "q.jsonl"
    path.write_text('{"id": "q 1", "text": "bread"}\n')
    return path


def test_integer_ids(tmp_path):
    vectors = hi2.StaticEncoder()(["bread", "butter"])
    built = hi2.HybridIndex.build(vectors, ["bread", "butter"], encoder=hi2.StaticEncoder(), path=tmp_path / "a")
    built.close()
    (tmp_path / "more.tsv").write_text("7\tcheese\n")
    assert "3 in" in run("add", tmp_path / "a", tmp_path / "more.tsv").stdout
    refused("integers", "explain", tmp_path / "a", "cheese", "³")
    assert "found" in run("explain", tmp_path / "a", "cheese", "7", "--per-doc", 1).stdout


def test_words_of_other_languages(tmp_path):
    (tmp_path / "c.tsv").write_text("a\tकिताब मेज़ पर\nb\tदूसरा\n")
    run("build", tmp_path / "c.tsv", "-o", tmp_path / "a", "--tokenizer", "words", "--metric", "cosine")
    assert json.loads(run("info", tmp_path / "a", "--json").stdout)["metric"] == "cosine"
    why = json.loads(run("explain", tmp_path / "a", "किताब", "a", "--json").stdout)
    assert [term["term"] for term in why["terms"]] == ["किताब"]


def test_shell_completion_knows_the_verbs():
    done = run(environment={"_HI2_COMPLETE": "complete_bash", "COMP_WORDS": "hi2 qu", "COMP_CWORD": "1"})
    assert "quickstart" in done.stdout


def test_tune_stores_profiles_that_search_uses(tmp_path):
    names = sorted(
        f"{module}.{name}" for module in ("os", "json", "math", "shutil") for name in dir(__import__(module))
    )
    lines = [json.dumps({"_id": name, "text": name.replace(".", " ").replace("_", " ")}) for name in names]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    (tmp_path / "q.txt").write_text("\n".join(name.split(".")[1].replace("_", " ") for name in names[::8]))
    run("build", tmp_path / "docs.jsonl", "-o", tmp_path / "a.hi2")
    done = run(
        "tune", tmp_path / "a.hi2", "--queries", tmp_path / "q.txt", "--target", "0.9", "--name", "mine", "-k", 5
    )
    assert "agreement with brute force" in done.stdout
    assert "--profile mine" in done.stdout
    found = run("search", tmp_path / "a.hi2", "path join", "--profile", "mine", "-k", 3, "-f", "jsonl")
    assert len(json.loads(found.stdout)["hits"]) == 3
    assert "one that this index has (mine)" in run("search", tmp_path / "a.hi2", "x", "--profile", "m", code=2).stderr
    (tmp_path / "few.txt").write_text("one\ntwo\n")
    refused = run("tune", tmp_path / "a.hi2", "--queries", tmp_path / "few.txt", "--target", "0.9", code=2)
    assert "at least 20" in refused.stderr
    adaptive = run("search", tmp_path / "a.hi2", "path join", "--adaptive", "0.05", "-f", "jsonl")
    assert json.loads(adaptive.stdout)["n_scored"] < len(names)


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
