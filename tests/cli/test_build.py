"""``hi2 build``: every format is read, bad lines are named, and a failed build leaves nothing."""

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
from commands import DOCUMENTS, refused, run
from hi2.cli.build import _tower


def test_a_build_reports_the_time_of_every_phase(corpus_file, tmp_path):
    first, phases = run("build", corpus_file, "-o", tmp_path / "b").stdout.splitlines()
    assert "4 documents" in first
    for phase in ("read texts", "fit clusters", "fit terms", "fit codec", "assign clusters", "file documents"):
        assert f"{phase} " in phases


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
    assert "1 bad line skipped" in done.stderr


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
    refused("--vectors must have", "build", corpus_file, "-o", tmp_path / "a", "--vectors", tmp_path / "v.npy")
    (tmp_path / "there").mkdir()
    refused("does not exist yet", "build", corpus_file, "-o", tmp_path / "there")
    assert not (tmp_path / "a").exists()


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
    files.append(self.folder.path / name)
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


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("x.parquet", b"garbage", "a parquet file"),
        ("x.parquet.gz", b"garbage", "a .parquet file"),
        ("x.jsonl.gz", gzip.compress(b'{"id": 1, "text": "x"}\n' + b"\n" * 9999, mtime=0)[:-9], "cannot be read"),
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


def test_words_of_other_languages(tmp_path):
    (tmp_path / "c.tsv").write_text("a\tकिताब मेज़ पर\nb\tदूसरा\n")
    run("build", tmp_path / "c.tsv", "-o", tmp_path / "a", "--tokenizer", "words", "--metric", "cosine")
    assert json.loads(run("info", tmp_path / "a", "--json").stdout)["metric"] == "cosine"
    why = json.loads(run("explain", tmp_path / "a", "किताब", "a", "--json").stdout)
    assert [term["term"] for term in why["terms"]] == ["किताब"]


@pytest.mark.filterwarnings("ignore")
def test_an_encoder_makes_the_vectors_or_encodes_queries_for_given_ones(tiny):
    name = f"DPR={tiny.folder / 'documents'},{tiny.folder / 'queries'}"
    assert _tower(name, given_vectors=False).source.endswith("documents")
    assert _tower(name, given_vectors=True).source.endswith("queries")
    assert isinstance(_tower(None, given_vectors=False), hi2.StaticEncoder)
    assert _tower(None, given_vectors=True) is None
