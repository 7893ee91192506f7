"""Files of documents and queries are read line by line; a bad line is named or counted."""

from __future__ import annotations

import gzip
import json
import lzma
import sys

import pytest

from hi2.data.input_files import Document, Skipped, find_file, read_documents, read_lines, read_queries
from hi2.errors import InvalidParameter, MissingExtra

ROWS = [
    {"_id": "a", "title": "A title", "text": "and text", "metadata": {"year": 2020}},
    {"id": 7, "text": "no title"},
    {"_id": None, "id": "c", "title": "", "text": "payload", "payload": {"tags": ["x"]}},
]
DOCUMENTS = [
    Document("a", "A title and text", {"year": 2020}),
    Document("7", "no title"),
    Document("c", "payload", {"tags": ["x"]}),
]


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_title_text_and_payload_are_read_plain_or_compressed(tmp_path, suffix, compress):
    path = tmp_path / f"corpus.jsonl{suffix}"
    path.write_bytes(compress(lines(*ROWS)))
    assert list(read_documents(path)) == DOCUMENTS
    assert list(read_documents(tmp_path)) == DOCUMENTS  # the folder of a BEIR collection
    assert find_file(tmp_path, "corpus.jsonl") == path


def test_a_tab_separates_id_and_text(tmp_path):
    (tmp_path / "a.tsv").write_text("1\tone two\n\n2\ta title\ta text\r\n", encoding="utf-8")
    assert list(read_documents(tmp_path / "a.tsv")) == [Document("1", "one two"), Document("2", "a title a text")]


def test_parquet_is_read_with_its_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
    from pyarrow import parquet

    table = pyarrow.table({"id": [1, 2], "text": ["one", None], "payload": [{"x": 1}, {"x": 2}]})
    parquet.write_table(table, tmp_path / "a.parquet")
    skipped = Skipped()
    assert list(read_documents(tmp_path / "a.parquet", skipped=skipped)) == [Document("1", "one", {"x": 1})]
    assert skipped.n == 1
    assert "row 2: no 'text'" in skipped.examples[0]
    parquet.write_table(table.drop_columns(["text"]), tmp_path / "b.parquet")
    with pytest.raises(InvalidParameter, match=r"columns 'id' .*Got columns \['id', 'payload'\]"):
        list(read_documents(tmp_path / "b.parquet"))


def test_parquet_without_its_extra_names_it(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"hi2\[parquet\]"):
        list(read_documents(tmp_path / "a.parquet"))


BAD = {
    b"{": "not JSON",
    b"[1]": "not an object",
    b'{"text": "x"}': "no 'id'",
    b'{"id": true, "text": "x"}': "no 'id'",
    b'{"id": "", "text": "x"}': "no 'id'",
    b'{"id": "x"}': "no 'text'",
    b'{"id": "x", "text": "y", "title": 3}': "'title' is not a string",
    b'{"id": "x", "text": "y", "payload": [1]}': "not an object",
    b'{"id": "good", "text": "y"}': "the id 'good' is also in",
    b'{"id": "x", "text": "\\ud800"}': "not valid Unicode",
    b"\xff": "not UTF-8",
    b"[" * 100_000: "not JSON",
}


@pytest.mark.parametrize("line", BAD, ids=BAD.values())
def test_a_bad_line_is_named_or_counted(tmp_path, line):
    path = tmp_path / "a.jsonl"
    good = {"id": "good", "text": "fine"}
    path.write_bytes(lines(good) + line + b"\n" + lines({"id": "last", "text": "fine"}))
    with pytest.raises(InvalidParameter, match="line 2.*" + BAD[line]):
        list(read_documents(path))
    skipped = Skipped()
    assert [document.id for document in read_documents(path, skipped=skipped)] == ["good", "last"]
    assert skipped.n == 1
    assert BAD[line] in skipped.examples[0]


def test_only_the_first_bad_lines_are_described():
    skipped = Skipped()
    for number in range(5):
        skipped.note(f"line {number}")
    assert (skipped.n, skipped.examples) == (5, ["line 0", "line 1", "line 2"])


def test_a_file_without_documents_is_refused_with_what_was_skipped(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"\n\n")
    with pytest.raises(InvalidParameter, match="a file with documents"):
        list(read_documents(tmp_path / "a.jsonl"))
    (tmp_path / "a.jsonl").write_bytes(b"{\n")
    with pytest.raises(InvalidParameter, match=r"1 bad lines were skipped, such as: .*line 1: not JSON"):
        list(read_documents(tmp_path / "a.jsonl", skipped=Skipped()))


@pytest.mark.parametrize("name", ["missing.jsonl", "a.csv", "a.parquet.gz"])
def test_an_unknown_file_is_refused(tmp_path, name):
    (tmp_path / "a.csv").write_text("1,a")
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    with pytest.raises(InvalidParameter, match=r"a BEIR folder, a \.jsonl or \.tsv file"):
        list(read_documents(tmp_path / name))
    with pytest.raises(InvalidParameter, match=r"a folder with queries\.jsonl"):
        list(read_queries(tmp_path))


def test_plain_text_queries_are_numbered_by_line(tmp_path):
    (tmp_path / "queries.txt").write_text("first\n\n  third \n", encoding="utf-8")
    assert list(read_queries(tmp_path / "queries.txt")) == [Document("1", "first"), Document("3", "third")]
    (tmp_path / "queries.jsonl").write_bytes(lines({"_id": "q", "text": "from a folder"}))
    assert list(read_queries(tmp_path)) == [Document("q", "from a folder")]


def test_lines_lose_their_ends_and_a_leading_bom(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\ntwo\n\ufeffthree".encode())
    assert list(read_lines(path)) == [(1, "one"), (2, "two"), (3, "\ufeffthree")]


def test_a_truncated_archive_says_how_far_it_was_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d\n" % (i * i) for i in range(90_000)))[:-2000])
    with pytest.raises(InvalidParameter, match=r"after line \d+: cannot be read"):
        list(read_lines(path))
    path.write_bytes(b"no archive")
    with pytest.raises(InvalidParameter, match="a file that can be read"):
        list(read_lines(path))


@pytest.mark.parametrize("first", ["id\ttitle\ttext\tyear", "ID\tTitle\tText\tyear", "doc_id\ttitle\ttext\tyear"])
@pytest.mark.parametrize("named", [False, True])
def test_a_header_is_recognised_in_any_letters_and_where_it_is_named_too(tmp_path, first, named):
    (tmp_path / "a.tsv").write_text(f"{first}\n1\tA\tred\t1999\n")
    header = ["id", "title", "text", "year"] if named else None
    (document,) = read_documents(tmp_path / "a.tsv", header=header)
    assert document == Document("1", "A red", {"year": "1999"})


def test_metadata_that_is_no_object_is_a_field(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "red", "metadata": "a string"}\n')
    (document,) = read_documents(tmp_path / "a.jsonl")
    assert document.payload == {"metadata": "a string"}


def test_a_field_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "red", "metadata": {"lang": "en"}, "lang": "de"}\n')
    with pytest.raises(InvalidParameter, match="line 1: 'lang' is there twice"):
        list(read_documents(tmp_path / "a.jsonl"))
