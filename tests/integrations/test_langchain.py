"""A LangChain vector store over an index passes LangChain's own tests, and keeps what hi2 promises."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
pytest.importorskip("langchain_tests", reason="needs langchain-tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

import hi2
from hi2.integrations.langchain import Hi2Retriever, Hi2VectorStore, relevance

TEXTS = ["Form EY-3209 for travel costs", "How to book a flight", "Costs of a taxi to the airport", "Public holidays"]
IDS = ["form", "flight", "taxi", "holidays"]
METADATA = [{"year": 2020, "tags": ["a"]}, {"year": 2021}, {"year": 2021, "by": {"name": "Ada"}}, {"year": "unknown"}]


class StaticEmbeddings(Embeddings):
    """The built-in encoder as LangChain spells it."""

    def embed_documents(self, texts):
        return hi2.StaticEncoder()(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


@pytest.mark.anyio
class TestStandardVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=["memory", "folder"])
    def vectorstore(self, request, tmp_path):
        store = Hi2VectorStore(self.get_embeddings(), path=None if request.param == "memory" else tmp_path / "a")
        yield store
        store.close()


@pytest.mark.anyio
class TestStandardRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return Hi2Retriever

    @property
    def retriever_constructor_params(self):
        return {"store": Hi2VectorStore.from_texts(TEXTS, DeterministicFakeEmbedding(size=6))}

    @property
    def retriever_query_example(self):
        return "costs"


@pytest.fixture(params=["embedding", "encoder"])
def store(request):
    own = {"embedding": StaticEmbeddings()} if request.param == "embedding" else {"encoder": hi2.StaticEncoder()}
    return Hi2VectorStore.from_texts(TEXTS, own.pop("embedding", None), METADATA, ids=IDS, **own)


def ids(documents):
    return [document.id for document in documents]


def test_a_search_ranks_by_meaning_and_words(store):
    assert ids(store.similarity_search("what is EY-3209?", k=1)) == ["form"]
    assert ids(store.similarity_search("vacation days", k=1)) == ["holidays"]
    hybrid = dict(zip(IDS, (score for _, score in scored(store, "taxi costs")), strict=True))
    dense = dict(zip(IDS, (score for _, score in scored(store, "taxi costs", lexical=0)), strict=True))
    assert hybrid["taxi"] > dense["taxi"]
    assert store.embeddings is None or ids(
        store.similarity_search_by_vector(store.embeddings.embed_query("vacation"), k=1)
    ) == ["holidays"]


def scored(store, query, **options):
    """Documents and scores in the order of IDS."""
    found = {own.id: (own, score) for own, score in store.similarity_search_with_score(query, k=4, **options)}
    return [found[id] for id in IDS]


def test_documents_come_with_text_and_metadata(store):
    (found,) = store.similarity_search("vacation days", k=1)
    assert found == Document(id="holidays", page_content="Public holidays", metadata={"year": "unknown"})
    assert store.get_by_ids(["taxi", "none", "form"]) == [
        Document(id=id, page_content=TEXTS[IDS.index(id)], metadata=METADATA[IDS.index(id)]) for id in ("taxi", "form")
    ]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("year >= 2021", {"flight", "taxi"}),
        ("tags contains 'a' or by.name == 'Ada'", {"form", "taxi"}),
        ({"year": 2021}, {"flight", "taxi"}),
        ({"year": "unknown"}, {"holidays"}),
        ({"year": 2021, "by": {"name": "Ada"}}, {"taxi"}),
        ({"by": {"name": "Ada"}}, {"taxi"}),
        ({"tags": ["a"]}, {"form"}),
        ({"tags": None, "year": 2021}, {"flight", "taxi"}),
        ({"no such key": 1}, set()),
        ({}, set(IDS)),
        (["form", "taxi"], {"form", "taxi"}),
    ],
)
def test_filters_are_those_of_hi2_or_a_mapping(store, filter, found):
    assert set(ids(store.similarity_search("costs", k=4, filter=filter))) == found
    assert set(ids(store.max_marginal_relevance_search("costs", k=4, filter=filter))) == found


def test_relevance_is_between_0_and_1_and_keeps_the_order(store):
    found = store.similarity_search_with_relevance_scores("travel costs", k=4)
    scores = [score for _, score in found]
    assert ids(own for own, _ in found) == ids(store.similarity_search("travel costs", k=4))
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] < 1
    kept = store.similarity_search_with_relevance_scores("travel costs", k=4, score_threshold=scores[1])
    assert kept == found[:2]
    assert [relevance(own) for own in (-100, 0, 100)] == [0, 0.5, 1]


def test_retrievers_have_thresholds_and_mmr(store):
    assert ids(store.as_retriever(search_kwargs={"k": 2, "filter": "year == 2021"}).invoke("taxi")) == [
        "taxi",
        "flight",
    ]
    best = store.similarity_search_with_relevance_scores("taxi costs", k=1)[0][1]
    threshold = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": best - 1e-6, "k": 4}
    )
    assert ids(threshold.invoke("taxi costs")) == ["taxi"]
    diverse = store.as_retriever(search_type="mmr", search_kwargs={"k": 3, "fetch_k": 4, "lambda_mult": 0.2})
    assert len(set(ids(diverse.invoke("taxi costs")))) == 3
    own = Hi2Retriever(store=store, k=1, filter={"year": 2020}, lexical=0.5)
    assert ids(own.invoke("taxi")) == ["form"]
    assert ids(own.invoke("taxi", filter=None)) == ["taxi"]


def test_mmr_prefers_documents_that_are_unlike_each_other(store):
    store.add_texts(["Costs of a taxi to an airport"], ids=["same"])
    assert set(ids(store.similarity_search("taxi costs", k=2))) == {"taxi", "same"}
    assert (
        len({"taxi", "same"} & set(ids(store.max_marginal_relevance_search("taxi costs", k=2, lambda_mult=0.1)))) == 1
    )
    vector = hi2.StaticEncoder()(["taxi costs"])[0].tolist()
    assert len(store.max_marginal_relevance_search_by_vector(vector, k=2)) == 2


def test_async_calls_give_the_same(store):
    async def both():
        assert await store.asimilarity_search("taxi", k=2) == store.similarity_search("taxi", k=2)
        found = await store.asimilarity_search_with_score("taxi", k=2)
        assert found == store.similarity_search_with_score("taxi", k=2)
        relevant = await store.asimilarity_search_with_relevance_scores("taxi", k=2, score_threshold=0.1)
        assert relevant == store.similarity_search_with_relevance_scores("taxi", k=2)
        diverse = await store.amax_marginal_relevance_search("taxi", k=2)
        assert diverse == store.max_marginal_relevance_search("taxi", k=2)
        vector = hi2.StaticEncoder()(["taxi"])[0].tolist()
        near = await store.asimilarity_search_by_vector(vector, k=2, filter="year == 2021")
        assert near == store.similarity_search_by_vector(vector, k=2, filter="year == 2021")
        near = await store.amax_marginal_relevance_search_by_vector(vector, k=2)
        assert near == store.max_marginal_relevance_search_by_vector(vector, k=2)
        made = await Hi2VectorStore.afrom_texts(["a"], StaticEmbeddings(), ids=["x"])
        assert ids(await made.aget_by_ids(["x"])) == ["x"]
        assert await made.adelete(["x"])
        assert len(made.index) == 0

    asyncio.run(both())


def test_documents_are_deleted_by_id_by_filter_or_all(store):
    with pytest.raises(hi2.InvalidParameter, match="'filter'"):
        store.delete(["form"], filter={"year": 2021})
    store.delete(["form", "none"])
    assert len(store.index) == 3
    store.delete(filter={"year": 2021})
    assert ids(store.similarity_search("anything", k=4)) == ["holidays"]
    store.delete(filter={"year": "no such"})
    store.delete([])
    assert len(store.index) == 1
    store.delete()
    assert store.similarity_search("anything") == store.max_marginal_relevance_search("anything") == []


def test_the_indexing_of_langchain_keeps_a_store_current():
    store, records = Hi2VectorStore(StaticEmbeddings()), InMemoryRecordManager("test")
    records.create_schema()
    given = [Document(page_content=text, metadata={"source": str(i)}) for i, text in enumerate(TEXTS)]
    options = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256", "batch_size": 2}
    assert index(given, records, store, **options)["num_added"] == 4
    assert index(given[:3], records, store, **options) | {"num_updated": 0} == {
        "num_added": 0,
        "num_updated": 0,
        "num_skipped": 3,
        "num_deleted": 1,
    }
    assert len(store.index) == 3


def test_a_folder_keeps_the_store(tmp_path):
    first = Hi2VectorStore.from_documents(
        [Document(id=id, page_content=text) for id, text in zip(IDS, TEXTS, strict=True)],
        StaticEmbeddings(),
        path=tmp_path / "a",
    )
    reader = Hi2VectorStore(StaticEmbeddings(), path=tmp_path / "a", mode="r")
    assert ids(reader.similarity_search("vacation days", k=1)) == ["holidays"]
    with pytest.raises(hi2.Locked):
        Hi2VectorStore(StaticEmbeddings(), path=tmp_path / "a")
    first.close()
    again = Hi2VectorStore(StaticEmbeddings(), path=tmp_path / "a")
    again.delete(["holidays"])
    assert len(again.index) == 3


def test_an_index_that_hi2_built_is_a_store(tmp_path):
    built = hi2.HybridIndex.build(texts=TEXTS, payload=[*METADATA[:3], {}], encoder=hi2.StaticEncoder())
    store = Hi2VectorStore(index=built)
    assert store.similarity_search("taxi", k=1) == [
        Document(id="2", page_content=TEXTS[2], metadata={"year": 2021, "by": {"name": "Ada"}})
    ]
    assert store.index is built


def test_without_an_embedding_words_alone_rank():
    store = Hi2VectorStore.from_texts(TEXTS, ids=IDS)
    assert set(ids(store.similarity_search("costs", k=4))) == {"form", "taxi"}
    with pytest.raises(hi2.InvalidParameter, match="'query' parameter must be searched with vectors"):
        store.max_marginal_relevance_search("costs")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.add_texts(["a", "b"], [{}]), r"'metadatas' parameter must be one per text \(2\). Got 1"),
        (lambda s: s.add_texts(["a", "b"], ids=["x"]), r"'ids' parameter must be one per text \(2\). Got 1"),
        (lambda s: s.add_texts(["a"], ids=[7]), "'ids'"),
        (lambda s: s.add_texts([7]), "'texts' parameter must be strings"),
        (lambda s: s.add_texts(["a"], [{"x": object()}]), "'payload' parameter must be JSON"),
        (lambda s: s.similarity_search("a", k=0), "'k' parameter"),
        (lambda s: s.similarity_search("a", filter="year >"), "'filter' parameter"),
        (lambda s: s.similarity_search("a", filter={"year": object()}), "'filter' parameter"),
        (lambda s: s.similarity_search("a", where={}), "'where' parameter must be left out"),
        (lambda s: Hi2VectorStore(StaticEmbeddings(), encoder=hi2.StaticEncoder()), "'encoder' parameter"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(store, call, said):
    with pytest.raises(hi2.InvalidParameter, match=said):
        call(store)
    assert len(store.index) == 4
