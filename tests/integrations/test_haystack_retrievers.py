"""Retrievers search a store from a Haystack pipeline."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("haystack", reason="needs the extra 'haystack'")

from haystack import Document, Pipeline
from haystack.document_stores.types import FilterPolicy

import hi2
from hi2.integrations.haystack import Hi2DocumentStore
from hi2.integrations.haystack_retrievers import Hi2EmbeddingRetriever, Hi2HybridRetriever, Hi2WordsRetriever

YEAR_2021 = {"field": "meta.year", "operator": "==", "value": 2021}


@pytest.fixture
def store(tmp_path):
    made = Hi2DocumentStore(tmp_path / "a")
    made.write_documents(
        [
            Document(id="form", content="Form EY-3209 for travel costs", embedding=[1.0, 0.0], meta={"year": 2020}),
            Document(id="flight", content="How to book a flight", embedding=[0.0, 1.0], meta={"year": 2021}),
            Document(id="taxi", content="Costs of a taxi", meta={"year": 2021}),
        ]
    )
    return made


def ids(found):
    return [own.id for own in found["documents"]]


def test_each_retriever_ranks_by_what_it_is_given(store):
    assert ids(Hi2EmbeddingRetriever(store).run([1.0, 0.1])) == ["form", "flight"]
    assert ids(Hi2WordsRetriever(store).run("costs of travel", top_k=1)) == ["form"]
    assert ids(Hi2HybridRetriever(store, lexical=5.0).run("EY-3209", [0.0, 1.0])) == ["form", "flight"]
    assert ids(Hi2HybridRetriever(store, lexical=0).run("EY-3209", [0.0, 1.0])) == ["flight", "form"]
    assert ids(Hi2HybridRetriever(store, lexical=0).run("EY-3209", [0.0, 1.0], lexical=5.0))[0] == "form"
    embedded = Hi2EmbeddingRetriever(store, top_k=1, return_embedding=True).run([1.0, 0.1])
    assert embedded["documents"][0].embedding == [1.0, 0.0]


def test_filters_at_run_time_replace_or_join_those_of_the_retriever(store):
    own = Hi2WordsRetriever(store, filters=YEAR_2021)
    assert ids(own.run("costs")) == ["taxi"]
    earlier = {"field": "meta.year", "operator": "<", "value": 2021}
    assert ids(own.run("costs", filters=earlier)) == ["form"]
    merged = Hi2WordsRetriever(store, filters=YEAR_2021, filter_policy="merge")
    assert merged.filter_policy == FilterPolicy.MERGE
    form = {"field": "meta.form", "operator": "==", "value": None}
    assert ids(merged.run("costs", filters=form)) == ["taxi"]


def test_async_runs_give_the_same(store):
    async def both():
        assert ids(await Hi2EmbeddingRetriever(store).run_async([1.0, 0.1])) == ["form", "flight"]
        assert ids(await Hi2WordsRetriever(store).run_async("taxi")) == ["taxi"]
        assert ids(await Hi2HybridRetriever(store).run_async("taxi", [0.0, 1.0], top_k=1, lexical=5.0)) == ["taxi"]

    asyncio.run(both())


@pytest.mark.parametrize("kind", [Hi2EmbeddingRetriever, Hi2WordsRetriever, Hi2HybridRetriever])
def test_a_retriever_is_described_by_a_dictionary(store, kind):
    made = kind(store, top_k=3, filters=YEAR_2021, filter_policy=FilterPolicy.MERGE)
    described = made.to_dict()
    store.close()
    again = kind.from_dict(described)
    assert again.to_dict() == described
    assert again.document_store.count_documents() == 3


def test_a_pipeline_keeps_its_retriever(store):
    pipeline = Pipeline()
    pipeline.add_component("retriever", Hi2WordsRetriever(store, top_k=1))
    assert ids(pipeline.run({"retriever": {"query": "taxi"}})["retriever"]) == ["taxi"]
    text = pipeline.dumps()
    store.close()
    assert ids(Pipeline.loads(text, allowed_modules=["hi2"]).run({"retriever": {"query": "taxi"}})["retriever"]) == [
        "taxi"
    ]


def test_a_store_of_another_kind_is_refused():
    with pytest.raises(hi2.InvalidParameter, match=r"'document_store' parameter must be a Hi2DocumentStore. Got 'a'"):
        Hi2WordsRetriever("a")
