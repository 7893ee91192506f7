"""In every format errors name the file and the line, and what is missing."""

from __future__ import annotations

import gzip
import hashlib

import pytest

import hi2
from collection_files import BEIR, DPR, MSMARCO, TREC, write
from hi2.evaluation.collections import open_collection


def read_all(collection):
    passages = {document.id: document.text for document in collection.documents()}
    for split in collection.splits:
        collection.judgements(split, passages=passages)
    collection.queries()


@pytest.mark.parametrize(
    ("files", "change", "message"),
    [
        (BEIR, {"qrels/test.tsv": "q1\td1\t1\nq1\td7\t1\n"}, "test.tsv, line 2: the document 'd7' does not exist"),
        (BEIR, {"qrels/test.tsv": "h\th\th\nq9\td1\t1\n"}, "test.tsv, line 2: the query 'q9' does not exist"),
        (BEIR, {"qrels/test.tsv": "q1\td1\t0\n"}, "test.tsv: no question has a relevant document"),
        (BEIR, {"qrels/test.tsv": "q1\td1\t1\nq1 d1\n"}, "test.tsv, line 2: expected query, document and grade"),
        (MSMARCO, {"qrels.train.tsv": "200\t0\t70\t1\n"}, "qrels.train.tsv, line 1: the document '70'"),
        (MSMARCO, {"collection.tsv": "7 no tab\n"}, "collection.tsv, line 1: expected an id, a tab"),
        (DPR, {"nq-test.qa.csv": "who\tZola\n"}, "nq-test.qa.csv, line 1: expected a question and a list"),
        (DPR, {"psgs_w100.tsv": "1\ttext\n"}, "psgs_w100.tsv, line 1: expected id, text and title"),
        (TREC, {"topics.robust.txt": "\n<top>\n<num> 3\n</top>"}, "topics.robust.txt, line 2: a topic without"),
        (TREC, {"qrels.robust.txt": "999 0 FT1 1\n"}, "qrels.robust.txt, line 1: the query '999'"),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path, files, change, message):
    collection = open_collection(write(tmp_path, {**files, **change}))
    with pytest.raises(hi2.InvalidParameter, match=message.replace(".", r"\.")):
        read_all(collection)


@pytest.mark.parametrize(
    ("files", "missing", "message"),
    [
        (BEIR, "queries.jsonl", "a folder with queries.jsonl"),
        (MSMARCO, "collection.tsv", "a folder with corpus.jsonl"),
        (TREC, "corpus.tsv", "a folder with corpus.jsonl, .tsv or .parquet"),
    ],
)
def test_a_missing_file_is_named(tmp_path, files, missing, message):
    folder = write(tmp_path, {name: text for name, text in files.items() if name != missing})
    with pytest.raises(hi2.InvalidParameter, match=message):
        open_collection(folder)


def test_an_unknown_split_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(hi2.InvalidParameter, match=r"'split'.*one of test.*Got 'dev'"):
        open_collection(write(tmp_path, BEIR)).judgements("dev")


def test_compressed_files_are_found_by_their_plain_names(tmp_path):
    write(tmp_path, MSMARCO)
    for name in MSMARCO:
        path = tmp_path / name
        path.with_name(name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    collection = open_collection(tmp_path)
    assert collection.splits == ["dev.small", "train"]
    assert collection.judgements("train").relevant("200") == ["7"]
    digest = hashlib.sha256((tmp_path / "collection.tsv.gz").read_bytes()).hexdigest()
    assert collection.manifest()["collection.tsv.gz"] == digest
