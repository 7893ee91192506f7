"""An index is a transformer in PyTerrier's pipelines and experiments, without Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyterrier", reason="needs the extra 'pyterrier'")

import numpy as np
import pandas as pd
import pyterrier as pt

import hi2
from hi2.integrations.pyterrier import Hi2Retriever

# PyTerrier's own code calls pandas in a way that pandas 3 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")

TEXTS = {"apple": "a red apple", "pear": "a green pear", "car": "the fast car", "train": "the slow train"}
QUERIES = pd.DataFrame([["q1", "green fruit"], ["q2", "a quick automobile"], ["q3", "train"]], columns=["qid", "query"])
QRELS = pd.DataFrame([["q1", "pear", 1], ["q2", "car", 1], ["q3", "train", 2]], columns=["qid", "docno", "label"])


@pytest.fixture(scope="module")
def index():
    payload = [{"n": i} for i in range(4)]
    return hi2.HybridIndex.build(
        texts=list(TEXTS.values()), ids=list(TEXTS), payload=payload, encoder=hi2.StaticEncoder()
    )


def with_vectors(queries):
    return queries.assign(query_vec=list(hi2.StaticEncoder()(queries["query"].tolist())))


def test_a_frame_of_queries_becomes_a_frame_of_documents(index):
    found = Hi2Retriever(index, num_results=3).transform(QUERIES)
    hits = index.search(QUERIES["query"].tolist(), k=3)
    assert found.columns.tolist() == ["qid", "query", "docno", "score", "rank"]
    assert found["docno"].tolist() == hits.ids.ravel().tolist()
    assert found["score"].tolist() == hits.scores.ravel().tolist()
    assert found["rank"].tolist() == [0, 1, 2] * 3
    assert found["qid"].tolist() == np.repeat(["q1", "q2", "q3"], 3).tolist()
    assert not pt.java.started()


def test_all_queries_are_searched_in_one_call(index):
    class Counting:
        calls = 0

        def search(self, *arguments, **options):
            Counting.calls += 1
            return index.search(*arguments, **options)

    Hi2Retriever(Counting()).transform(QUERIES)
    assert Counting.calls == 1


def test_vectors_and_words_rank_by_what_the_frame_has(index):
    retriever = Hi2Retriever(index, num_results=4)
    both = retriever.transform(with_vectors(QUERIES))
    assert both["score"].to_numpy() == pytest.approx(retriever.transform(QUERIES)["score"].to_numpy(), abs=1e-6)
    dense = retriever.transform(with_vectors(QUERIES).drop(columns="query"))
    assert (
        dense["score"].tolist()
        == Hi2Retriever(index, num_results=4, settings={"lexical": 0})
        .transform(with_vectors(QUERIES))["score"]
        .tolist()
    )
    words = hi2.HybridIndex.create(dim=2)
    words.add(None, list(TEXTS.values()), ids=list(TEXTS))
    found = Hi2Retriever(words).transform(QUERIES)
    assert found[["qid", "docno", "rank"]].to_numpy().tolist() == [
        ["q1", "pear", 0],
        ["q2", "apple", 0],
        ["q2", "pear", 1],
        ["q3", "train", 0],
    ]


def test_settings_are_those_of_search(index):
    found = Hi2Retriever(index, settings={"filter": "n >= 2"}).transform(QUERIES)
    assert set(found["docno"]) == {"car", "train"}


def test_it_works_in_pipelines(index):
    retriever = Hi2Retriever(index, num_results=4, text=True)
    shorter = retriever >> pt.apply.doc_score(lambda row: -len(row["text"]))
    assert shorter.search("fruit").sort_values("rank")["docno"].tolist()[0] == "apple"
    assert (retriever % 2).search("fruit")["docno"].tolist() == retriever.search("fruit")["docno"].tolist()[:2]
    double = (retriever + retriever).search("fruit").set_index("docno")["score"]
    assert double["pear"] == pytest.approx(2 * retriever.search("fruit").set_index("docno")["score"]["pear"])
    rewritten = pt.apply.query(lambda row: "slow train") >> Hi2Retriever(index, num_results=1)
    assert rewritten.search("fruit")["docno"].tolist() == ["train"]


def test_a_cutoff_is_part_of_the_search(index):
    retriever = Hi2Retriever(index, num_results=3, text=True, settings={"lexical": 0.5})
    fused = retriever.fuse_rank_cutoff(2)
    assert (fused.num_results, fused.text, fused.settings) == (2, True, {"lexical": 0.5})
    assert retriever.fuse_rank_cutoff(5) is retriever
    compiled = (retriever % 2).compile()
    assert isinstance(compiled, Hi2Retriever)
    assert compiled.num_results == 2
    assert repr(fused).startswith("Hi2Retriever(<HybridIndex of 4 documents")
    assert "lexical=0.5" in repr(fused)


def test_experiments_measure_it(index):
    hybrid, dense = Hi2Retriever(index), Hi2Retriever(index, settings={"lexical": 0})
    systems = [hybrid, dense % 1, hybrid + dense]
    table = pt.Experiment(systems, QUERIES, QRELS, ["recip_rank", "ndcg_cut_10"], names=["hybrid", "dense", "sum"])
    assert table.set_index("name").loc["hybrid", "recip_rank"] == 1.0
    assert len(table) == 3
    assert not pt.java.started()


def test_frames_without_queries_and_queries_without_hits_are_answered(index):
    retriever = Hi2Retriever(index, text=True)
    empty = retriever.transform(QUERIES.iloc[:0])
    assert empty.columns.tolist() == ["qid", "query", "docno", "score", "rank", "text"]
    assert len(empty) == 0
    assert pt.inspect.transformer_outputs(retriever, ["qid", "query"]) == empty.columns.tolist()
    words = hi2.HybridIndex.create(dim=2)
    assert len(Hi2Retriever(words).transform(QUERIES)) == 0
    words.add(None, ["a train"], ids=["x"])
    assert Hi2Retriever(words).transform(QUERIES)["qid"].tolist() == ["q2", "q3"]


def test_integer_ids_become_strings():
    index = hi2.HybridIndex.build(texts=list(TEXTS.values()), encoder=hi2.StaticEncoder())
    assert Hi2Retriever(index, num_results=1).search("train")["docno"].tolist() == ["3"]


def test_bad_input_is_refused(index):
    with pytest.raises(pt.validate.InputValidationError):
        Hi2Retriever(index).transform(pd.DataFrame({"qid": ["1"]}))
    with pytest.raises(hi2.InvalidParameter, match=r"'num_results' parameter must be an integer of at least 1. Got 0"):
        Hi2Retriever(index, num_results=0)
    with pytest.raises(hi2.InvalidParameter, match="'index' parameter must be a HybridIndex"):
        Hi2Retriever("a")
    with pytest.raises(hi2.InvalidParameter, match="'settings' parameter must be without 'k'"):
        Hi2Retriever(index, settings={"k": 3})
