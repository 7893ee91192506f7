"""Every format of a collection is read, and errors name the file and the line."""

from __future__ import annotations

import json

import pytest

import hi2
from hi2.evaluation.collections import open_collection
from hi2.evaluation.judgements import answer_tokens


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


BEIR = {
    "corpus.jsonl": '{"_id": "d1", "title": "A", "text": "one"}\n{"_id": "d2", "text": "two"}\n',
    "queries.jsonl": '{"_id": "q1", "text": "first"}\n{"_id": "q2", "text": "second"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n",
}
MSMARCO = {
    "collection.tsv": "7\ta passage\n8\tanother\tone\n",
    "queries.dev.small.tsv": "100\twhat is it\n",
    "queries.train.tsv": "200\twho is it\n",
    "qrels.dev.small.tsv": "100\t0\t8\t1\n",
    "qrels.train.tsv": "200\t0\t7\t1\n",
}
DPR = {
    "psgs_w100.tsv": 'id\ttext\ttitle\n1\t"Zola wrote ""Nana"" in 1880."\tÉmile Zola\n2\tA city, Paris.\tFrance\n',
    "nq-test.qa.csv": 'who wrote nana\t[\'Émile Zola\', \'Zola\']\nwhere\t["Lyon"]\nwho\t"[""Émile""]"\n',
    "nq-dev.jsonl": json.dumps({"question": "which city", "answer": ["paris"]}) + "\n",
}
TOPICS = """<top>
<num> Number: 301
<title> Topic: International
Organized Crime
<desc> Description: what
</top>
"""
TREC = {
    "corpus.tsv": "FT1\tcrime pays\nFT2\tnothing\n",
    "topics.robust.txt": TOPICS,
    "topics.web.txt": "w1\tplain title\n",
    "qrels.robust.txt": "301 0 FT1 1\n301 0 FT2 -1\n",
}


def test_beir(tmp_path):
    collection = open_collection(write(tmp_path / "mine", BEIR))
    assert collection.name == "mine"
    assert [(d.id, d.text) for d in collection.documents()] == [("d1", "A one"), ("d2", "two")]
    assert collection.queries() == {"q1": "first", "q2": "second"}
    assert collection.splits == ["test"]
    judged = collection.judgements("test")
    assert judged.queries == ["q1", "q2"]
    assert judged.gains("q1", ["d2", "d1", "d9"]) == [0, 2, 0]
    assert judged.ideal("q1") == [2]
    manifest = collection.manifest()
    assert set(manifest) == {"corpus.jsonl", "queries.jsonl", "test.tsv"}
    (tmp_path / "mine" / "corpus.jsonl").write_text(BEIR["corpus.jsonl"] + " ")
    assert collection.manifest()["corpus.jsonl"] != manifest["corpus.jsonl"]


def test_ms_marco(tmp_path):
    collection = open_collection(write(tmp_path, MSMARCO))
    assert [(d.id, d.text) for d in collection.documents()] == [("7", "a passage"), ("8", "another\tone")]
    assert list(collection.queries()) == ["100", "200"]
    assert collection.splits == ["dev.small", "train"]
    assert collection.judgements("dev.small").relevant("100") == ["8"]


def test_natural_questions_in_the_format_of_dpr(tmp_path):
    collection = open_collection(write(tmp_path, DPR))
    passages = {document.id: document.text for document in collection.documents()}
    assert passages["1"] == 'Émile Zola Zola wrote "Nana" in 1880.'
    questions = {"dev-1": "which city", "test-1": "who wrote nana", "test-2": "where", "test-3": "who"}
    assert collection.queries() == questions
    judged = collection.judgements("test", passages=passages)
    assert judged.gains("test-1", ["2", "1"]) == [0, 1]
    assert judged.gains("test-1", ["1", "1"]) == [1, 0], "one hit is enough"
    assert judged.gains("test-2", ["1", "2"]) == [0, 0]
    assert judged.gains("test-3", ["1", "2"]) == [0, 0], "titles are not searched for answers"
    assert collection.judgements("dev", passages=passages).gains("dev-1", ["2"]) == [1]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("U.S.", ["u", ".", "s", "."]),
        ("Beyonce\u0301", ["beyonce\u0301"]),
        ("Beyonc\u00e9", ["beyonce\u0301"]),
        ("a\u00a0b\u200bc", ["a", "b", "c"]),
        ("x² 日本語", ["x²", "日本語"]),
        ("", []),
    ],
)
def test_answers_are_compared_as_in_dpr(text, tokens):
    assert answer_tokens(text) == tokens


def test_trec(tmp_path):
    collection = open_collection(write(tmp_path, {**TREC, "corpus.npy": "vectors, not documents"}))
    assert [d.id for d in collection.documents()] == ["FT1", "FT2"]
    assert collection.queries() == {"301": "International Organized Crime", "w1": "plain title"}
    assert collection.splits == ["robust"]
    judged = collection.judgements("robust")
    assert judged.gains("301", ["FT2", "FT1"]) == [0, 1]


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


def test_a_source_that_is_neither_folder_nor_dataset_is_refused(tmp_path):
    with pytest.raises(hi2.InvalidParameter, match="a folder, or an id of ir_datasets"):
        open_collection("nowhere")


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
